#include "larmor/data/cache/shared_folder.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/files/removal.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/process/system_error.h"
#include "larmor/base/text.h"
#include "larmor/data/cache/cache_folder.h"
#include "larmor/data/cache/prepared_cache.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view lock_ending = ".lock", beginning = "window-";

[[noreturn]] void fail_shared(int code, const char* action, const fs::path& path) {
  fail(Exit::environment, text("cannot ", action, " ", path.string(), ": ", std::strerror(code)));
}

void make_own(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) fail_shared(errno, "create the folder", folder);
  struct stat status{};
  const bool ours = ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
                    status.st_uid == ::getuid() && (status.st_mode & 077) == 0;
  if (!ours)
    fail(Exit::environment, text(folder.string(), ": is not a folder of this user alone"), "remove it");
}

bool is_lock(const fs::path& path) {
  constexpr std::size_t digits = 16;
  const std::string name = path.filename().string();
  if (!name.starts_with(beginning) || !name.ends_with(lock_ending)) return false;
  const std::string_view number = std::string_view(name).substr(beginning.size(), digits);
  return name.size() == beginning.size() + digits + lock_ending.size() &&
         number.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// With its lock, which nobody holds.
void remove_if_forsaken(const fs::path& lock) {
  const Descriptor file(after_signals([&] { return ::open(lock.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW); }));
  if (!file.is_open() || ::flock(file.number(), LOCK_EX | LOCK_NB) != 0) return;
  try {
    DiskStorage storage;
    remove_own(storage, fs::path(lock).replace_extension(), PreparedCache::names);
    ::unlink(lock.c_str());
  } catch (const Error&) {  // the next one tries again
  }
}

// A shared lock on the file of that name as it is now, not on one that was removed meanwhile.
Descriptor hold(const fs::path& lock) {
  for (;;) {
    Descriptor file(
        after_signals([&] { return ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600); }));
    if (!file.is_open()) fail_shared(errno, "open the lock file", lock);
    struct stat held{}, named{};
    const bool locked = after_signals([&] { return ::flock(file.number(), LOCK_SH); }) == 0 &&
                        ::fstat(file.number(), &held) == 0;
    if (!locked) fail_shared(errno, "lock", lock);
    if (::stat(lock.c_str(), &named) == 0 && held.st_ino == named.st_ino) return file;
  }
}

}  // namespace

SharedFolder::SharedFolder(const fs::path& parent, const std::string& digits)
    : path_(parent / text(beginning, digits)), lock_(parent / text(beginning, digits, lock_ending)) {
  make_own(parent);
  std::vector<fs::path> locks;
  std::error_code error;
  for (const auto& item : fs::directory_iterator(parent, error)) {
    if (is_lock(item.path()) && item.path() != lock_) locks.push_back(item.path());
  }
  for (const fs::path& lock : locks) remove_if_forsaken(lock);
  descriptor_ = hold(lock_);
  make_own(path_);
}

SharedFolder::~SharedFolder() {
  descriptor_.reset();
  remove_if_forsaken(lock_);
}

fs::path memory_folder() { return text("/dev/shm/larmor-", ::getuid()); }

uint64_t free_shared_memory() {
  struct statvfs status{};
  if (::statvfs("/dev/shm", &status) != 0) return 0;
  return static_cast<uint64_t>(status.f_bavail) * status.f_frsize;
}

}  // namespace larmor
