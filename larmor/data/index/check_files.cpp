#include "larmor/data/index/check_files.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/files/storage.h"
#include "larmor/data/cache/source_files.h"
#include "larmor/data/index/sound_files.h"
#include "larmor/formats/memory_budget.h"
#include "larmor/formats/quick_check.h"
#include "larmor/formats/volume.h"

namespace larmor {
namespace {

void check_one(const std::filesystem::path& path, Depth depth) {
  if (depth == Depth::full || !looks_sound(path)) check_volume(path);
}

class FileChecks {
 public:
  explicit FileChecks(uint64_t shared_bytes) : budget_(shared_bytes) {}

  // Why the file cannot be used; "" when it can. Thread-safe.
  std::string fault_of(const std::filesystem::path& path, Depth depth) {
    try {
      check_within_budget(path, depth);
      return "";
    } catch (const Error& error) {
      return reason_behind(path.string(), error.message());
    } catch (const std::exception& error) {
      return error.what();
    }
  }

 private:
  void check_within_budget(const std::filesystem::path& path, Depth depth) {
    try {
      const BudgetScope scope(budget_);
      return check_one(path, depth);
    } catch (const OverBudget&) {
    }
    const std::lock_guard alone(large_);
    check_one(path, depth);
  }

  MemoryBudget budget_;
  std::mutex large_;
};

constexpr uint64_t shared_bytes_of_checks = uint64_t{1} << 30;

std::vector<BadFile> check_all(const Index& index, Depth depth, uint64_t shared_bytes, SoundFiles* sound) {
  if (index.is_invented()) return {};
  const auto files = index.distinct_files();
  std::vector<std::string> faults(files.size());
  FileChecks checks(shared_bytes);
  over_threads(files.size(), [&](std::size_t i) {
    const auto path = index.folder / files[i];
    const auto state = sound != nullptr ? SoundFiles::state_of(path) : std::nullopt;
    if (state && sound->has(path, *state)) return;
    faults[i] = checks.fault_of(path, depth);
    if (state && faults[i].empty()) sound->add(path, *state);
  });
  std::vector<BadFile> bad;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!faults[i].empty()) bad.push_back({files[i], std::move(faults[i])});
  }
  return bad;
}

}  // namespace

std::vector<BadFile> check_files(const Index& index, Depth depth) {
  return check_files(index, depth, shared_bytes_of_checks);
}

std::vector<BadFile> check_files(const Index& index, Depth depth, uint64_t shared_bytes) {
  return check_all(index, depth, shared_bytes, nullptr);
}

std::vector<BadFile> check_files(const Index& index, SoundFiles& sound) {
  auto bad = check_all(index, Depth::header, shared_bytes_of_checks, &sound);
  sound.save();
  return bad;
}

std::vector<BadFile> check_many_files(const Index& index, const std::filesystem::path& cache) {
  const auto storage = make_storage();
  SoundFiles sound(*storage, cache / "sound-files");
  return check_files(index, sound);
}

}  // namespace larmor
