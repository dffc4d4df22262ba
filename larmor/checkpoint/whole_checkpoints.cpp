#include "larmor/checkpoint/whole_checkpoints.h"

#include <sys/stat.h>

#include <utility>

#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/checkpoint/manifest.h"

namespace larmor {

namespace fs = std::filesystem;

namespace {

std::string look_of_file(const fs::path& path, std::optional<uint64_t> bytes) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return "";
  if (bytes && static_cast<uint64_t>(status.st_size) != *bytes) return "";
  return text(status.st_dev, " ", status.st_ino, " ", status.st_size, " ", status.st_mtim.tv_sec, ".",
              status.st_mtim.tv_nsec, " ", status.st_ctim.tv_sec, ".", status.st_ctim.tv_nsec, "\n");
}

}  // namespace

std::string look_of(const fs::path& folder, const Json& manifest) {
  std::string all = look_of_file(folder / manifest_name, {});
  if (all.empty()) return "";
  for (const auto& file : files_of(manifest)) {
    const auto one = look_of_file(folder / file.name, file.bytes);
    if (one.empty()) return "";
    all += one;
  }
  return all;
}

const CheckpointEntry* WholeCheckpoints::answer_of(const CheckpointEntry& now) const {
  const auto found = answers_.find(now.folder.filename().string());
  if (!now.ok || found == answers_.end()) return nullptr;
  const auto& answer = found->second;
  const bool looks_the_same = !answer.look.empty() && answer.look == look_of(now.folder, now.manifest);
  return looks_the_same && answer.manifest == now.manifest ? &answer : nullptr;
}

CheckpointEntry WholeCheckpoints::verify(const fs::path& folder) {
  auto entry = read_entry(folder);
  if (const auto* answer = answer_of(entry)) {
    entry.ok = answer->ok;
    entry.reason = answer->reason;
    return entry;
  }
  if (!entry.ok) return entry;
  check_files(entry);
  if (!entry.ok)
    log::warning(
        text("the checkpoint ", folder.string(), " is damaged and counts for nothing: ", entry.reason));
  remember(entry);
  return entry;
}

bool WholeCheckpoints::knows(const fs::path& folder) const {
  const auto* answer = answer_of(read_entry(folder));
  return answer != nullptr && answer->ok;
}

void WholeCheckpoints::remember(const CheckpointEntry& verified) {
  answers_[verified.folder.filename().string()] = verified;
}

void WholeCheckpoints::remember_written(const fs::path& folder, const Json& manifest) {
  CheckpointEntry entry;
  entry.folder = folder;
  entry.manifest = manifest;
  entry.look = look_of(folder, manifest);
  remember(entry);
}

void WholeCheckpoints::forget(const fs::path& folder) { answers_.erase(folder.filename().string()); }

}  // namespace larmor
