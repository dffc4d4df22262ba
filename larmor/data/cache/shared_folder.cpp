#include "larmor/data/cache/shared_folder.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/cache/cache_folder.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;

constexpr const char* lock_ending = ".lock";

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

// With its lock, which nobody holds.
void remove_if_forsaken(const fs::path& lock) {
  const Descriptor file(::open(lock.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!file.is_open() || ::flock(file.number(), LOCK_EX | LOCK_NB) != 0) return;
  std::error_code ignored;
  fs::path folder = lock;
  fs::remove_all(folder.replace_extension(), ignored);
  ::unlink(lock.c_str());
}

// A shared lock on the file of that name as it is now, not on one that was removed meanwhile.
Descriptor hold(const fs::path& lock) {
  for (;;) {
    Descriptor file(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file.is_open()) fail_shared(errno, "open the lock file", lock);
    struct stat held{}, named{};
    const bool locked = ::flock(file.number(), LOCK_SH) == 0 && ::fstat(file.number(), &held) == 0;
    if (locked && ::stat(lock.c_str(), &named) == 0 && held.st_ino == named.st_ino) return file;
    if (!locked && errno != EINTR) fail_shared(errno, "lock", lock);
  }
}

}  // namespace

SharedFolder::SharedFolder(const fs::path& parent, const std::string& name)
    : path_(parent / name), lock_(parent / (name + lock_ending)) {
  make_own(parent);
  std::vector<fs::path> locks;
  std::error_code error;
  for (const auto& item : fs::directory_iterator(parent, error)) {
    if (item.path().extension() == lock_ending && item.path() != lock_) locks.push_back(item.path());
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
