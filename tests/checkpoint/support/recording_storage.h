// Records what a save asks of its storage, with every byte, while a real folder carries it out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "larmor/base/files/storage.h"

namespace larmor::testing {

/// One operation. Paths are relative to the root of the storage that recorded it.
struct Recorded {
  enum class Kind {
    make_folder,
    create,
    write,
    sync,
    close,
    rename,
    exchange,
    sync_folder,
    remove_all,
    link,
    announce
  };
  Kind kind = Kind::announce;
  std::string path = {};
  std::string target = {};  // rename: the new path; exchange: the other one; link: what it points to
  std::string bytes = {};   // of a write
  int64_t file = -1;        // create, write, sync, close: the number of the opened file
  int64_t step = -1;        // announce: of the checkpoint that counts as committed from here on
};
using Recording = std::vector<Recorded>;

/// "rename checkpoints/step-1.tmp to checkpoints/step-1".
std::string words_for(const Recorded& operation);

/// Thread-safe: the order of the record is the order in which the operations were done.
class RecordingStorage final : public Storage {
 public:
  /// What kill_before() throws: nothing in the library catches it as a failure of the storage.
  struct Killed {};

  explicit RecordingStorage(Path root) : root_(std::move(root)) {}

  const Recording& recording() const { return recording_; }
  /// A save said that this step is committed.
  void announce(int64_t step);
  /// The process ends in front of the operation of that number, and of every later one.
  void kill_before(size_t operation) { killed_before_ = operation; }
  /// Another process goes on with what this one left.
  void restart() { kill_before(std::numeric_limits<size_t>::max()); }

  /// Recorded as one make_folder for each folder that was not there, and the syncs that DiskStorage promises.
  void create_folders(const Path& folder) override;
  std::unique_ptr<StorageFile> create(const Path& file) override;
  /// Refused: a save appends to nothing.
  std::unique_ptr<StorageFile> append(const Path& file) override;
  std::unique_ptr<StorageFile> stream(const Path& path) override { return append(path); }
  void rename(const Path& from, const Path& to) override;
  void exchange(const Path& one, const Path& other) override;
  void sync_folder(const Path& folder) override;
  void remove_all(const Path& path) override;
  void replace_link(const Path& link, const Path& target) override;
  uint64_t free_bytes(const Path& folder) override { return disk_.free_bytes(folder); }
  /// "checkpoint.committed" announces the checkpoint whose folder was renamed last.
  void point(std::string_view name) override;

 private:
  class File;
  template <class Operation>
  void record(Recorded recorded, const Operation& operation);
  std::string inside(const Path& path) const { return path.lexically_relative(root_).string(); }

  DiskStorage disk_;
  Path root_;
  std::recursive_mutex mutex_;
  Recording recording_;
  size_t killed_before_ = std::numeric_limits<size_t>::max();
  int64_t files_ = 0;
};

}  // namespace larmor::testing
