// Which files have been found sound, remembered by path, size and times: a start with hundreds of thousands
// of files opens those that have changed, and not all of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "larmor/base/files/storage.h"

namespace larmor {

/// Thread-safe. A list that is damaged, of another version, or cannot be written is as good as none.
class SoundFiles {
 public:
  /// What tells one state of a file from the next.
  struct State {
    uint64_t size = 0, inode = 0;
    int64_t modified_ns = 0, changed_ns = 0;
    bool operator==(const State&) const = default;
  };

  /// Borrows the storage. `list` need not be there. A file may change twice within a tick of its clock, so
  /// what is younger than `settled` is not remembered.
  SoundFiles(Storage& storage, std::filesystem::path list,
             std::chrono::nanoseconds settled = std::chrono::seconds(2));

  /// Nothing for what is no regular file: a folder's files change without it.
  static std::optional<State> state_of(const std::filesystem::path& file);
  bool has(const std::filesystem::path& file, const State& state) const;
  /// `state`: before the file was looked at.
  void add(const std::filesystem::path& file, const State& state);
  /// Writes the list anew where something was added. Never throws for what cannot be written.
  void save();

 private:
  void load();

  Storage& storage_;
  const std::filesystem::path list_;
  const std::chrono::nanoseconds settled_;
  mutable std::mutex mutex_;  // guards what follows
  std::unordered_map<std::string, State> known_;
  bool has_new_ = false;
};

}  // namespace larmor
