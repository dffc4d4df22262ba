// The folder of prepared examples: what the deterministic part of a chain made of files, kept for every run
// that wants the same. An entry is found by what is in the files and in the chain, never by names or times.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "larmor/base/files/storage.h"
#include "larmor/base/json.h"
#include "larmor/config/run_config.h"
#include "larmor/data/cache/cache_entry.h"
#include "larmor/data/cache/cache_folder.h"
#include "larmor/data/cache/source_hashes.h"
#include "larmor/formats/volume.h"

namespace larmor {

/// Raised when the same files and the same chain come to give other voxels.
constexpr int preparation_version = 1;

/// SHA-256 of what an entry is made from: names and contents of the sources, the deterministic steps, the
/// code's version. The order of a step's parameters does not matter.
std::string cache_key(const std::vector<std::pair<std::string, std::string>>& contents, const Json& chain);

/// An entry; or the volumes themselves, where there was no room to keep them.
struct PreparedExample {
  std::optional<CacheEntry> entry;
  std::map<std::string, Volume, std::less<>> volumes;
};

/// Thread-safe. Any number of processes may share the folder.
class PreparedCache {
 public:
  using Make = std::function<std::map<std::string, Volume, std::less<>>()>;

  /// Borrows the storage. Without a budget: what lies there already and four fifths of what the disk has
  /// free. Throws Error (environment) when the folder cannot be made.
  /// `claim_patience`: how long get() waits for somebody who is making an example; work that is done twice
  /// costs less than waiting for a process that has stopped.
  PreparedCache(Storage& storage, std::filesystem::path folder, std::optional<uint64_t> budget_bytes = {},
                std::chrono::milliseconds claim_patience = std::chrono::seconds(10));

  /// Whether what lies in a cache's folder under this path is called as caches call their own.
  static bool names(const std::filesystem::path& within);

  const std::filesystem::path& folder() const { return folder_; }
  uint64_t budget_bytes() const { return budget_; }
  uint64_t free_bytes() { return storage_.free_bytes(folder_); }
  SourceHashes& sources() { return sources_; }
  /// Of all entries, looked up now.
  uint64_t bytes() const;
  bool holds(const std::string& key) const;

  /// Nothing when it is not there. A damaged one is told once, removed, and counts as not there.
  std::optional<CacheEntry> find(const std::string& key);
  /// Finds it, or makes and keeps it. Whoever else on this machine wants it meanwhile waits for a while,
  /// shows that as a stage of loading, and finds it. Over the budget, the entries that were not used for
  /// longest go, but none that is in use and none that this process has asked for; where that is not enough,
  /// and where writing fails, the example is not kept, which is told once. Throws what `make` throws.
  PreparedExample get(const std::string& key, const Make& make);
  enum class Filled { there, no_room, somebody_is_at_it };
  /// For what will be wanted soon: makes and keeps it, without waiting for anybody. Throws what `make`
  /// throws.
  Filled fill(const std::string& key, const Make& make);
  /// Removes an entry that will not be wanted again, unless it is in use.
  void drop(const std::string& key);
  /// A brick of it was found to be damaged: told once; the next get() makes it anew.
  void discard(const std::string& key, const std::string& reason);

  struct Removed {
    int64_t entries = 0, in_use = 0;
    uint64_t bytes = 0;
  };
  /// Removes every entry that nobody uses, what killed processes left half-written, and the remembered
  /// hashes.
  Removed clean();

 private:
  struct Found {
    std::filesystem::path path;
    uint64_t bytes = 0;
    int64_t used_ns = 0;
  };
  std::filesystem::path path_of(const std::string& key) const;
  std::vector<Found> scan() const;
  bool make_room(uint64_t bytes);
  void keep(const std::string& key, PreparedExample& example);
  /// Whether it is worth waiting for who holds its claim, and that it is not any more.
  bool waits_for(const std::string& key);
  void forsake(const std::string& key);
  void say_once(const std::string& subject, const std::string& words);

  Storage& storage_;
  const std::filesystem::path folder_;
  const std::chrono::milliseconds claim_patience_;
  SourceHashes sources_;
  uint64_t budget_ = 0;
  std::mutex mutex_;                       // guards what follows
  uint64_t counted_ = 0, uncounted_ = 0;   // all entries at the last look and ours since; ours since
  std::set<std::string> asked_for_;        // file names
  std::set<std::string> said_, forsaken_;  // the latter names of claims
};

}  // namespace larmor
