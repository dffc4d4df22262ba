// Which checkpoints are whole, without reading any of them twice.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "larmor/checkpoint/checkpoint.h"

namespace larmor {

/// What the manifest says, with the files unread: `ok` means that it is sealed and makes sense.
CheckpointEntry read_entry(const std::filesystem::path& folder);
/// Reads every byte of an entry that is `ok` so far.
void check_files(CheckpointEntry& entry);
/// Device, inode, size and times of the manifest and of all files it lists; "" where one is no regular file,
/// or has not the size that is listed.
std::string look_of(const std::filesystem::path& folder, const Json& manifest);

/// Remembers what this process has verified, and what it has written and hashed on the way. A file that looks
/// as it did then is not read again: damage that changes neither size nor times is found by the next process.
/// One thread at a time.
class WholeCheckpoints {
 public:
  /// The same as verify_checkpoint(), which it calls where something looks different, or is new.
  CheckpointEntry verify(const std::filesystem::path& folder);
  /// Whether verify() would answer that it is whole, without reading any file of it.
  bool knows(const std::filesystem::path& folder) const;
  /// An answer of verify_checkpoint() that was got elsewhere in this process.
  void remember(const CheckpointEntry& verified);
  /// What this process has just committed.
  void remember_written(const std::filesystem::path& folder, const Json& manifest);
  /// What has been removed.
  void forget(const std::filesystem::path& folder);

 private:
  /// Null where there is no answer, or the files look different by now.
  const CheckpointEntry* answer_of(const CheckpointEntry& now) const;

  std::map<std::string, CheckpointEntry> answers_;  // by the folder's name
};

}  // namespace larmor
