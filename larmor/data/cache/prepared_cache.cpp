#include "larmor/data/cache/prepared_cache.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/files/removal.h"
#include "larmor/base/files/user_cache.h"
#include "larmor/base/hash.h"
#include "larmor/base/load_clock.h"
#include "larmor/base/log.h"
#include "larmor/base/process/descriptor.h"
#include "larmor/base/process/system_error.h"
#include "larmor/base/text.h"
#include "larmor/data/cache/cache_layout.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view entry_ending = ".entry", partial_mark = ".entry.partial-";
constexpr const char* claims_name = "claims";
constexpr std::chrono::milliseconds claim_pause(50);
constexpr const char* sources_name = "sources";

bool is_hex(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Only what this program has named so is ever removed.
bool is_entry(const std::string& name) {
  return name.size() == cache_key_letters + entry_ending.size() && name.ends_with(entry_ending) &&
         is_hex(std::string_view(name).substr(0, cache_key_letters));
}

bool is_partial(const std::string& name) {
  return name.starts_with(".") && name.find(partial_mark) == 1 + cache_key_letters;
}

bool is_shelf(const std::string& name) { return name.size() == 2 && is_hex(name); }

// Runs `work` for each file of the folders that hold entries.
template <class Work>
void for_each_file(const fs::path& folder, const Work& work) {
  std::error_code error;
  for (fs::directory_iterator shelf(folder, error), end; !error && shelf != end; shelf.increment(error)) {
    const std::string name = shelf->path().filename().string();
    if (!is_shelf(name) || shelf->is_symlink(error) || error) continue;
    std::error_code inner;
    for (fs::directory_iterator file(shelf->path(), inner); !inner && file != end; file.increment(inner))
      work(file->path());
  }
}

// A lock that goes with the process. Where files cannot be locked work may be done twice, nothing worse.
class Lock {
 public:
  Lock(const fs::path& path, int flags, int operation)
      : file_(after_signals([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0600); })) {
    take(operation);
  }
  bool held() const { return held_; }
  /// Whether it could be had but for another who holds it.
  bool is_taken() const { return file_.is_open() && !held_ && errno_ == EWOULDBLOCK; }
  void try_again(int operation) { take(operation); }

 private:
  void take(int operation) {
    held_ = file_.is_open() && after_signals([&] { return ::flock(file_.number(), operation); }) == 0;
    errno_ = errno;
  }

  Descriptor file_;
  bool held_ = false;
  int errno_ = 0;
};

bool is_in_use(const fs::path& path) { return !Lock(path, O_RDONLY, LOCK_EX | LOCK_NB).held(); }

int64_t age_seconds(const fs::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return 0;
  return static_cast<int64_t>(::time(nullptr)) - status.st_mtim.tv_sec;
}

}  // namespace

fs::path default_cache_folder() {
  if (const fs::path folder = user_cache_folder(); !folder.empty()) return folder / "prepared";
  fail(Exit::usage, "there is no folder for the prepared cache: neither HOME nor XDG_CACHE_HOME names one",
       "set data.cache_folder");
}

fs::path chosen_cache_folder(const DataConfig& data) {
  const bool is_auto = data.cache_folder.empty() || data.cache_folder == "auto";
  return is_auto ? default_cache_folder() : fs::path(data.cache_folder);
}

std::string cache_key(const std::vector<std::pair<std::string, std::string>>& contents, const Json& chain) {
  nlohmann::json all;  // the kind that sorts its keys
  all["version"] = preparation_version;
  all["format"] = cache_format;
  all["sources"] = contents;
  all["chain"] = nlohmann::json::parse(chain.dump());
  return sha256(all.dump());
}

PreparedCache::PreparedCache(Storage& storage, fs::path folder, std::optional<uint64_t> budget_bytes,
                             std::chrono::milliseconds claim_patience)
    : storage_(storage),
      folder_(std::move(folder)),
      claim_patience_(claim_patience),
      sources_(storage, folder_ / sources_name) {
  try {
    storage_.create_folders(folder_ / claims_name);
  } catch (const Error& error) {
    // One that others have filled and that may only be read is good enough.
    std::error_code ignored;
    if (!fs::is_directory(folder_, ignored))
      fail(Exit::environment, error.message(), "set data.cache_folder, or data.cache=none");
  }
  counted_ = bytes();
  budget_ = budget_bytes ? *budget_bytes : counted_ + storage_.free_bytes(folder_) / 5 * 4;
}

bool PreparedCache::names(const fs::path& within) {
  const std::string name = within.filename().string(), shelf = within.parent_path().string();
  if (shelf.empty()) return is_shelf(name) || name == claims_name || name == sources_name;
  return shelf == claims_name ? is_shelf(name) : is_shelf(shelf) && (is_entry(name) || is_partial(name));
}

fs::path PreparedCache::path_of(const std::string& key) const {
  return folder_ / key.substr(0, 2) / (key + std::string(entry_ending));
}

std::vector<PreparedCache::Found> PreparedCache::scan() const {
  std::vector<Found> found;
  for_each_file(folder_, [&](const fs::path& path) {
    struct stat status{};
    if (!is_entry(path.filename().string()) || ::lstat(path.c_str(), &status) != 0) return;
    if (!S_ISREG(status.st_mode)) return;
    const int64_t used = status.st_mtim.tv_sec * int64_t{1'000'000'000} + status.st_mtim.tv_nsec;
    found.push_back({path, static_cast<uint64_t>(status.st_size), used});
  });
  return found;
}

uint64_t PreparedCache::bytes() const {
  uint64_t sum = 0;
  for (const Found& one : scan()) sum += one.bytes;
  return sum;
}

bool PreparedCache::holds(const std::string& key) const {
  std::error_code ignored;
  return fs::exists(path_of(key), ignored);
}

void PreparedCache::say_once(const std::string& subject, const std::string& words) {
  {
    const std::lock_guard lock(mutex_);
    if (!said_.insert(subject).second) return;
  }
  log::warning(words);
}

void PreparedCache::discard(const std::string& key, const std::string& reason) {
  say_once("damaged " + key, text("prepared cache: ", reason, "; it is made anew"));
  try {
    remove_file(storage_, path_of(key));
  } catch (const Error&) {
    // It will be written over.
  }
}

std::optional<CacheEntry> PreparedCache::find(const std::string& key) {
  const fs::path path = path_of(key);
  {
    const std::lock_guard lock(mutex_);
    asked_for_.insert(path.filename().string());
  }
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::nullopt;
  try {
    CacheEntry entry = CacheEntry::open(path);
    if (entry.key() != key) fail(Exit::data, text(path.string(), ": is an entry of another name"));
    ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // used now, where we may say so
    return entry;
  } catch (const Error& error) {
    if (fs::exists(path, ignored)) discard(key, error.message());
    return std::nullopt;
  }
}

PreparedCache::Filled PreparedCache::fill(const std::string& key, const Make& make) {
  if (holds(key)) return Filled::there;
  const Lock claim(folder_ / claims_name / key.substr(0, 2), O_RDWR | O_CREAT, LOCK_EX | LOCK_NB);
  if (!claim.held()) return Filled::somebody_is_at_it;
  if (holds(key)) return Filled::there;
  PreparedExample example;
  example.volumes = make();
  keep(key, example);
  return example.entry ? Filled::there : Filled::no_room;
}

void PreparedCache::drop(const std::string& key) {
  const fs::path path = path_of(key);
  const std::lock_guard lock(mutex_);
  asked_for_.erase(path.filename().string());
  std::error_code error;
  const uint64_t bytes = fs::file_size(path, error);
  if (error || is_in_use(path) || !fs::remove(path, error)) return;
  counted_ -= std::min(counted_, bytes);
}

bool PreparedCache::waits_for(const std::string& key) {
  const std::lock_guard lock(mutex_);
  return !forsaken_.contains(key.substr(0, 2));
}

void PreparedCache::forsake(const std::string& key) {
  const auto claim = key.substr(0, 2);
  {
    const std::lock_guard lock(mutex_);
    forsaken_.insert(claim);
  }
  say_once("claim " + claim,
           text("prepared cache: a process has held ", (folder_ / claims_name / claim).string(), " for ",
                human_seconds(std::chrono::duration<double>(claim_patience_).count()),
                "; what it claims is prepared without waiting for it. It may be stopped"));
}

PreparedExample PreparedCache::get(const std::string& key, const Make& make) {
  PreparedExample example;
  if ((example.entry = find(key))) return example;
  Lock claim(folder_ / claims_name / key.substr(0, 2), O_RDWR | O_CREAT, LOCK_EX | LOCK_NB);
  const auto end = std::chrono::steady_clock::now() + claim_patience_;
  while (claim.is_taken() && !holds(key) && waits_for(key)) {
    if (std::chrono::steady_clock::now() > end) {
      forsake(key);
      break;
    }
    const LoadScope shown(LoadStage::read);  // its end is a heartbeat
    std::this_thread::sleep_for(claim_pause);
    claim.try_again(LOCK_EX | LOCK_NB);
  }
  if (holds(key) && (example.entry = find(key))) return example;
  example.volumes = make();
  keep(key, example);
  return example;
}

void PreparedCache::keep(const std::string& key, PreparedExample& example) {
  try {
    const Bytes bytes = encode_cache_entry(key, example.volumes);
    if (!make_room(bytes.size())) {
      say_once("full", text("prepared cache: ", folder_.string(), " is full (", human_bytes(budget_),
                            "); what does not fit is prepared anew each time. Raise data.budget"));
      return;
    }
    storage_.create_folders(folder_ / key.substr(0, 2));
    write_cache_entry(storage_, path_of(key), bytes);
    example.entry = CacheEntry::open(path_of(key));
    example.volumes.clear();
  } catch (const Error& error) {
    example.entry.reset();
    say_once("unwritable", text("prepared cache: ", error.message(), "; going on without keeping"));
  }
}

bool PreparedCache::make_room(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  // What others have added is seen often enough to matter little.
  constexpr uint64_t parts_between_counts = 64;
  uncounted_ += bytes;
  if (counted_ + bytes <= budget_ && uncounted_ <= budget_ / parts_between_counts) {
    counted_ += bytes;
    return true;
  }
  uncounted_ = 0;
  std::vector<Found> found = scan();
  counted_ = 0;
  for (const Found& one : found) counted_ += one.bytes;
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.used_ns < b.used_ns; });
  for (const Found& one : found) {
    if (counted_ + bytes <= budget_) break;
    if (asked_for_.contains(one.path.filename().string()) || is_in_use(one.path)) continue;
    std::error_code error;
    if (fs::remove(one.path, error) && !error) counted_ -= one.bytes;
  }
  if (counted_ + bytes > budget_) return false;
  counted_ += bytes;
  return true;
}

PreparedCache::Removed PreparedCache::clean() {
  Removed removed;
  for (const Found& one : scan()) {
    if (is_in_use(one.path)) {
      ++removed.in_use;
      continue;
    }
    remove_file(storage_, one.path);
    ++removed.entries;
    removed.bytes += one.bytes;
  }
  constexpr int64_t forsaken_seconds = 3600;  // nobody writes one entry for so long
  for_each_file(folder_, [&](const fs::path& path) {
    if (is_partial(path.filename().string()) && age_seconds(path) > forsaken_seconds)
      remove_file(storage_, path);
  });
  remove_file(storage_, folder_ / sources_name);
  const uint64_t left = bytes();
  const std::lock_guard lock(mutex_);
  counted_ = left;
  return removed;
}

}  // namespace larmor
