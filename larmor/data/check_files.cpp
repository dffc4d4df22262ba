#include <cstddef>
#include <exception>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/data/index.h"
#include "larmor/data/source_files.h"
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
  over_threads(files.size(), [&](std::size_t i) { faults[i] = fault_of(index.folder / files[i], depth); });
  std::vector<BadFile> bad;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!faults[i].empty()) bad.push_back({files[i], std::move(faults[i])});
  }
  return bad;
}

}  // namespace larmor
