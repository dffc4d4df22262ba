// What a POSIX file system may hold after a power cut, given what was asked of it before. Assumed and not
// assumed: docs/checkpoint_format.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/checkpoint/support/file_tree.h"
#include "tests/checkpoint/support/recording_storage.h"

namespace larmor::testing {

/// A file system in memory that knows what is on its disk for certain and what is not yet. A file's bytes are
/// after a sync of the file; an entry of a folder (creation, link, rename, removal) is after a sync of that
/// folder. Until then any part of them may be lost: changes of entries each for itself, though in one folder
/// those of the same file in their order, a rename as one change; bytes as torn_contents() says.
class CrashModel {
 public:
  /// All of the tree is on the disk.
  explicit CrashModel(const FileTree& durable);

  /// Carries out one operation; calls `after_step` after each of the smaller ones that it consists of. Throws
  /// std::logic_error when the operation could not be done on these files.
  void apply(const Recorded& operation, const std::function<void()>& after_step);

  /// What processes see.
  FileTree cached() const;

  /// Changes of entries that may be lost.
  size_t pending_changes() const;
  /// A file whose bytes are not on the disk, or not all of them.
  struct Unsynced {
    size_t node = 0;
    std::string durable = {}, cached = {};
  };
  std::vector<Unsynced> unsynced_files() const;

  /// What a power cut may leave.
  struct Choice {
    std::vector<bool> kept = {};                  // of the pending changes
    std::map<size_t, std::string> contents = {};  // of unsynced files, by node; others: what is on the disk
  };
  FileTree after_crash(const Choice& choice) const;

 private:
  static constexpr size_t none = SIZE_MAX;
  using Entries = std::map<std::string, size_t>;
  struct Change {
    std::vector<std::pair<std::string, size_t>> entries = {};  // the node, or none
    std::vector<size_t> nodes = {};                            // all that it is about
    int64_t twin = -1;  // the other half of a rename between two folders has the same number
  };
  struct Node {
    FileItem::Kind kind = FileItem::Kind::folder;
    std::string durable, cached;  // a file's bytes; a link's target
    Entries durable_entries, cached_entries;
    std::vector<Change> pending;
  };
  using EntriesOf = std::function<Entries(size_t node)>;

  size_t add(FileItem::Kind kind, std::string content = {});
  size_t find(const std::string& path) const;  // none when absent
  std::pair<size_t, std::string> place_of(const std::string& path) const;
  void change(size_t folder, Change change);
  void remove(size_t folder, const std::string& name, const std::function<void()>& after_step);
  void create(const Recorded& operation);
  void rename(const std::string& from, const std::string& to);
  void exchange(const std::string& one, const std::string& other);
  void replace_link(const Recorded& operation, const std::function<void()>& after_step);
  void sync_folder(size_t folder);
  void settle(size_t folder, std::vector<bool> kept);
  static std::vector<bool> with_earlier(const Node& folder, std::vector<bool> kept);
  static Entries entries_with(const Node& folder, const std::vector<bool>& kept);
  FileTree tree(const EntriesOf& entries_of, const std::function<std::string(size_t)>& content_of) const;

  std::vector<Node> nodes_;
  std::map<int64_t, size_t> open_files_;
  int64_t twins_ = 0;
};

/// What a file may hold after a crash whose bytes were not synced: none of the new bytes, all of them, and,
/// torn at every byte, a shorter file, one of full size with zeros or with old bytes of the disk behind or in
/// front of the tear, and `mixed` of them that lack some blocks, drawn at random.
std::vector<std::string> torn_contents(const std::string& durable, const std::string& cached, size_t mixed,
                                       std::mt19937_64& random);

/// One state that a power cut may leave behind.
struct CrashState {
  FileTree tree = {};
  int64_t announced = -1;  // the newest step that had been announced; -1: none
  size_t operation = 0;    // how many operations of the record had been begun
};

/// How many states of one moment are looked at: all of them where there are fewer, else some drawn at random.
struct CrashSearch {
  size_t subsets = 64;  // of the pending changes of entries
  size_t torn = 64;     // contents of unsynced files
  uint64_t seed = 1;
  size_t first_operation = 0;
};

/// Visits states after every step of the record, each tree with what had been announced once. Ends early when
/// `visit` returns false. Returns how many were visited.
size_t visit_crash_states(const FileTree& before, int64_t announced_before, const Recording& recording,
                          const CrashSearch& search, const std::function<bool(const CrashState&)>& visit);

}  // namespace larmor::testing
