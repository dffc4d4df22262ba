#include "larmor/base/files/file.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/files/lock_holder.h"
#include "larmor/base/files/regular_file.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/files/whole_file.h"
#include "larmor/base/process/process.h"
#include "larmor/base/process/system_error.h"
#include "larmor/base/text.h"

namespace larmor {

std::string read_text(const std::filesystem::path& path, uint64_t limit) {
  return naming(path, [&] {
    const RegularFile file = open_regular(path, Exit::environment);
    std::string content;
    // Files under /proc and /sys say they are empty, so the size is a hint and not the truth.
    content.reserve(static_cast<size_t>(std::min(limit, file.size())));
    std::array<std::byte, 65536> buffer;
    while (const size_t count = file.read_at(content.size(), buffer)) {
      content.append(reinterpret_cast<const char*>(buffer.data()), count);
      if (content.size() > limit)
        fail(Exit::environment, text("is larger than ", human_bytes(limit)),
             "check that this is the file you mean");
    }
    return content;
  });
}

void write_text(Storage& storage, const std::filesystem::path& path, std::string_view content) {
  const auto file = create_whole(storage, path);
  file->write(content);
  file->close();
}

ScratchFolder::ScratchFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "larmor-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) fail_errno(errno, "create the scratch folder", pattern);
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

namespace {

Descriptor open_lock_file(const std::filesystem::path& path) {
  Descriptor file(
      after_signals([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600); }));
  if (!file.is_open()) fail_errno(errno, "open the lock file", path);
  struct stat status{};
  // A second name of a file that means something to us: the lock would empty it.
  if (::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink > 1) {
    fail(Exit::environment, text("the lock file ", path.string(), " is no file of its own"),
         "remove it, and see who else may write into that folder");
  }
  return file;
}

// A holder may have taken the file away, and its folder, between the opening and the lock: what is locked
// then is a file that nobody finds.
bool is_file_of(const Descriptor& file, const std::filesystem::path& path) {
  struct stat ours{}, named{};
  return ::fstat(file.number(), &ours) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         ours.st_ino == named.st_ino && ours.st_dev == named.st_dev;
}

// Whoever asks who holds the lock (lock_holder()) has a share of it for a moment, which a holder would
// refuse.
bool has_only_shares(const Descriptor& file) {
  return ::flock(file.number(), LOCK_SH | LOCK_NB) == 0 && ::flock(file.number(), LOCK_UN) == 0;
}

// Between the moment in which a process takes the lock and the moment in which it writes its name the file is
// empty, or names an earlier holder, which has ended.
bool names_no_holder(const std::string& content) {
  pid_t process = 0;
  const bool is_of_here = std::sscanf(content.c_str(), "process %d", &process) == 1 && process > 0 &&
                          content.ends_with(text(" on ", host_name()));
  return content.empty() || (is_of_here && ::access(text("/proc/", process).c_str(), F_OK) != 0);
}

}  // namespace

FileLock::FileLock(const std::filesystem::path& path) {
  using namespace std::chrono_literals;
  constexpr std::chrono::milliseconds longest_silence = 1s, pause = 2ms;
  const auto begun = std::chrono::steady_clock::now();
  Descriptor file;
  int tries = 100;  // of a file system whose numbers of files change, one lock is as good as another
  for (;;) {
    file = open_lock_file(path);
    if (::flock(file.number(), LOCK_EX | LOCK_NB) == 0) {
      if (is_file_of(file, path) || --tries == 0) break;
      continue;
    }
    if (errno != EWOULDBLOCK) fail_errno(errno, "lock", path);
    const auto holder = content_of_lock(file);
    const bool may_be_free = has_only_shares(file) || names_no_holder(holder);
    if (may_be_free && std::chrono::steady_clock::now() - begun < longest_silence) {
      std::this_thread::sleep_for(pause);
      continue;
    }
    fail(Exit::environment, text(path.string(), " is held by ", holder.empty() ? "another process" : holder),
         "wait until it has ended, or end it; the lock goes with the process");
  }
  // Says who we are to the next one who asks. Not being able to say it is no reason not to work.
  const std::string us = text("process ", ::getpid(), " on ", host_name(), "\n");
  const bool told =
      ::ftruncate(file.number(), 0) == 0 && ::pwrite(file.number(), us.data(), us.size(), 0) > 0;
  static_cast<void>(told);
  file_ = std::move(file);
}

}  // namespace larmor
