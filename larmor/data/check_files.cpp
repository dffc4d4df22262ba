#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/data/index.h"
#include "larmor/formats/quick_check.h"
#include "larmor/formats/volume.h"

namespace larmor {
namespace {

// Why the file cannot be used; "" when it can.
std::string fault_of(const std::filesystem::path& path, Depth depth) {
  if (depth == Depth::header && looks_sound(path)) return "";
  try {
    check_volume(path);
    return "";
  } catch (const Error& error) {
    return reason_behind(path.string(), error.message());
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

std::vector<BadFile> check_files(const Index& index, Depth depth) {
  if (index.is_invented()) return {};
  std::set<std::string> distinct;
  for (const Case& entry : index.cases) {
    for (const auto& [name, file] : entry.files) distinct.insert(file);
  }
  const std::vector<std::string> files(distinct.begin(), distinct.end());
  std::vector<std::string> faults(files.size());

  // Waiting for a disk far away is most of it, so a few threads help even where there is one core.
  constexpr std::size_t most_threads = 8;
  std::atomic<std::size_t> next{0};
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < std::min(most_threads, files.size()); ++i) {
    threads.emplace_back([&] {
      for (std::size_t mine = next++; mine < files.size(); mine = next++) {
        faults[mine] = fault_of(index.folder / files[mine], depth);
      }
    });
  }
  threads.clear();

  std::vector<BadFile> bad;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!faults[i].empty()) bad.push_back({files[i], std::move(faults[i])});
  }
  return bad;
}

}  // namespace larmor
