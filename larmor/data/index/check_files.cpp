#include "larmor/data/index/check_files.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/data/cache/source_files.h"
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

}  // namespace

std::vector<BadFile> check_files(const Index& index, Depth depth) {
  constexpr uint64_t shared_bytes = uint64_t{1} << 30;
  return check_files(index, depth, shared_bytes);
}

std::vector<BadFile> check_files(const Index& index, Depth depth, uint64_t shared_bytes) {
  if (index.is_invented()) return {};
  const auto files = index.distinct_files();
  std::vector<std::string> faults(files.size());
  FileChecks checks(shared_bytes);
  over_threads(files.size(),
               [&](std::size_t i) { faults[i] = checks.fault_of(index.folder / files[i], depth); });
  std::vector<BadFile> bad;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!faults[i].empty()) bad.push_back({files[i], std::move(faults[i])});
  }
  return bad;
}

}  // namespace larmor
