#include "larmor/run/kept_files.h"

#include <set>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/removal.h"
#include "larmor/base/files/temporary_name.h"
#include "larmor/base/hash.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"

namespace larmor {

namespace fs = std::filesystem;

namespace {

constexpr const char* folder_of_kept = "kept";
constexpr const char* list_of_kept = "kept_files.json";

}  // namespace

void keep_files(const std::map<std::string, std::string>& contents, const fs::path& place, Storage& storage) {
  const auto folder = place / folder_of_kept;
  remove_kept_files(place, storage);
  if (contents.empty()) return;
  storage.create_folders(folder);
  Json hashes = Json::object();
  for (const auto& [name, bytes] : contents) {
    write_text(storage, folder / name, bytes);
    hashes[name] = sha256(bytes);
  }
  write_text(storage, folder / list_of_kept, to_text(hashes));  // last: it says that all of them are there
}

void remove_kept_files(const fs::path& place, Storage& storage) {
  const auto folder = place / folder_of_kept;
  std::set<std::string> names = {list_of_kept};
  try {
    const Json listed = read_json(folder / list_of_kept);
    for (const auto& [name, hash] : listed.items()) names.insert(name);
  } catch (const Error&) {  // the list comes last
  }
  remove_own(storage, folder, [&](const fs::path& within) {
    return names.contains(within.string()) || is_temporary_name(within.string());
  });
}

std::map<std::string, KeptFile> kept_files(const fs::path& place) {
  const auto folder = place / folder_of_kept;
  std::map<std::string, KeptFile> files;
  if (!fs::exists(folder / list_of_kept)) return files;
  const Json listed = read_json(folder / list_of_kept);
  for (const auto& [name, hash] : listed.items()) {
    const KeptFile file{.path = folder / name, .sha256 = hash.get<std::string>()};
    if (!fs::exists(file.path) || sha256_of_file(file.path) != file.sha256) {
      fail(Exit::checkpoint,
           text(file.path.string(), " is not what the run has kept: its SHA-256 has changed"),
           "restore the run folder, or start the run again");
    }
    files.emplace(name, file);
  }
  return files;
}

}  // namespace larmor
