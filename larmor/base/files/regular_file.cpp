#include "larmor/base/files/regular_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "larmor/base/process/system_error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

const char* noun_of(mode_t mode) {
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "no regular file";
}

// Why what has this mode is not read.
[[noreturn]] void refuse_kind(Exit exit, mode_t mode) {
  if (S_ISDIR(mode)) fail(exit, "is a folder, not a file", "name a file in it");
  fail(exit, text("is ", noun_of(mode), ", not a file with bytes in it"), "name a file that lies on a disk");
}

[[noreturn]] void refuse_opening(Exit exit, const std::filesystem::path& path, int code) {
  struct stat status{};
  if (code == ENOENT && ::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode))
    fail(exit, "is a link to a file that is not there", "put the file back, or remove the link");
  if (code == ENOENT || code == ENOTDIR) fail(exit, "no such file", "check the path");
  // A socket cannot be opened at all.
  if (code == ENXIO && ::stat(path.c_str(), &status) == 0) refuse_kind(exit, status.st_mode);
  const bool is_limit = code == EMFILE || code == ENFILE;
  fail(exit, text("cannot be opened: ", std::generic_category().message(code)),
       is_limit ? "raise the limit of open files (ulimit -n)" : "check its permissions");
}

}  // namespace

std::size_t RegularFile::read_at(uint64_t offset, std::span<std::byte> to) const {
  std::size_t read = 0;
  while (read < to.size()) {
    const ssize_t count = after_signals([&] {
      return ::pread(file_.number(), to.data() + read, to.size() - read, static_cast<off_t>(offset + read));
    });
    if (count < 0)
      fail(exit_, text("cannot be read: ", std::generic_category().message(errno)),
           "the disk or the network file system may have failed: see the system's log (dmesg)");
    if (count == 0) break;
    read += static_cast<std::size_t>(count);
  }
  return read;
}

Descriptor open_without_waiting(const std::filesystem::path& path, int flags) {
  constexpr int attempts = 500;
  for (int attempt = 1;; ++attempt) {
    Descriptor file(::open(path.c_str(), flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    const bool again = !file.is_open() && (errno == EINTR || errno == EWOULDBLOCK);
    if (!again || attempt == attempts) return file;
    if (errno == EWOULDBLOCK) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

RegularFile open_regular(const std::filesystem::path& path, Exit exit) {
  Descriptor opened = open_without_waiting(path, O_RDONLY);
  if (!opened.is_open()) refuse_opening(exit, path, errno);
  struct stat status{};
  if (::fstat(opened.number(), &status) != 0)
    fail(exit, text("cannot be read: ", std::generic_category().message(errno)));
  if (!S_ISREG(status.st_mode)) refuse_kind(exit, status.st_mode);
  return {std::move(opened), static_cast<uint64_t>(status.st_size), exit};
}

}  // namespace larmor
