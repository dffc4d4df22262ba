// SHA-256 of source files, remembered: a start pays for the files that have changed, not for all of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>

#include "larmor/base/files/storage.h"

namespace larmor {

/// Thread-safe; processes may share the file, to which lines are only added. A line that was torn or spoilt
/// is passed over.
class SourceHashes {
 public:
  /// Borrows the storage. `file` need not be there; when it cannot be written nothing is remembered.
  SourceHashes(Storage& storage, std::filesystem::path file);

  /// Of a file; of both files of a NIfTI pair; of a folder's files and their names (a series of slices, also
  /// as folder#series).
  /// Reads what has not been hashed since it last changed (size, times, inode). Throws Error (data) when it
  /// cannot be read.
  std::string of(const std::filesystem::path& source);

 private:
  /// What tells one state of a file from the next.
  struct State {
    uint64_t size = 0, inode = 0;
    int64_t modified_ns = 0, changed_ns = 0;
    bool operator==(const State&) const = default;
  };
  struct Known {
    State state;
    std::string sha256;
  };
  static State state_of(const std::filesystem::path& file);
  void load();
  std::string of_file(const std::filesystem::path& file);
  void remember(const std::string& file, const Known& known);

  Storage& storage_;
  const std::filesystem::path file_;
  std::mutex mutex_;  // guards what follows
  std::map<std::string, Known> known_;
  bool can_write_ = true;
};

}  // namespace larmor
