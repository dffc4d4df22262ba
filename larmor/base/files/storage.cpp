#include "larmor/base/files/storage.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/files/disk_room.h"
#include "larmor/base/files/new_folder.h"
#include "larmor/base/files/regular_file.h"
#include "larmor/base/files/temporary_name.h"
#include "larmor/base/process/descriptor.h"
#include "larmor/base/process/system_error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

constexpr mode_t file_mode = 0600;

class DiskFile final : public StorageFile {
 public:
  DiskFile(Descriptor descriptor, std::filesystem::path path)
      : descriptor_(std::move(descriptor)), path_(std::move(path)) {}

  void write(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t count =
          after_signals([&] { return ::write(descriptor_.number(), bytes.data(), bytes.size()); });
      if (count <= 0) fail_errno(count < 0 ? errno : EIO, "write", path_);
      bytes = bytes.subspan(static_cast<size_t>(count));
    }
  }

  void sync() override {
    // The kernel drops dirty pages after a failed fsync and reports the next one as good.
    if (lost_) fail_errno(EIO, "sync", path_);
    if (after_signals([&] { return ::fsync(descriptor_.number()); }) != 0 && errno != EINVAL) {
      lost_ = true;
      fail_errno(errno, "sync", path_);
    }
  }

  void close() override {
    // Network file systems report a full disk here.
    if (const int code = descriptor_.close(); code != 0) fail_errno(code, "close", path_);
  }

 private:
  Descriptor descriptor_;
  std::filesystem::path path_;
  bool lost_ = false;
};

constexpr int for_writing = O_WRONLY | O_CLOEXEC | O_NOCTTY;

// A new file, with our mode whatever the umask; EEXIST where there is something, be it a link to nothing.
Descriptor open_new(const std::filesystem::path& path, int flags) {
  flags |= for_writing | O_CREAT | O_EXCL;
  Descriptor file(after_signals([&] { return ::open(path.c_str(), flags, file_mode); }));
  // A mode that cannot be had, as on a share of another system, is no reason not to write.
  if (file.is_open()) static_cast<void>(::fchmod(file.number(), file_mode));
  return file;
}

[[noreturn]] void refuse_kind(const std::filesystem::path& path) {
  fail(Exit::environment, text("cannot write ", path.string(), ": it is no file"),
       "remove it, or name another file");
}

}  // namespace

void DiskStorage::create_folders(const Path& folder) {
  Path made;
  for (const Path& part : folder) {
    const Path parent = made.empty() ? Path(".") : made;
    made /= part;
    struct stat status{};
    const bool exists = ::stat(made.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
    if (!exists && !part.empty() && create_folder(made)) sync_folder(parent);
  }
}

std::unique_ptr<StorageFile> DiskStorage::create(const Path& file) {
  Descriptor opened = open_new(file, 0);
  if (!opened.is_open()) fail_errno(errno, "create", file);
  return std::make_unique<DiskFile>(std::move(opened), file);
}

std::unique_ptr<StorageFile> DiskStorage::append(const Path& file) {
  Descriptor opened = open_new(file, O_APPEND);
  // Who may write into the folder could have a link lead to any file of ours, or put something there that
  // keeps whoever opens it waiting. A file that was there keeps its mode.
  if (!opened.is_open() && errno == EEXIST)
    opened = open_without_waiting(file, for_writing | O_APPEND | O_NOFOLLOW);
  if (!opened.is_open() && errno == ENXIO) refuse_kind(file);
  if (!opened.is_open()) fail_errno(errno, "open for writing", file);
  struct stat status{};
  if (::fstat(opened.number(), &status) != 0) fail_errno(errno, "look at", file);
  if (!S_ISREG(status.st_mode) && !S_ISCHR(status.st_mode)) refuse_kind(file);
  return std::make_unique<DiskFile>(std::move(opened), file);
}

std::unique_ptr<StorageFile> DiskStorage::stream(const Path& path) {
  Descriptor opened = open_without_waiting(path, for_writing);
  if (!opened.is_open() && errno == ENXIO) {
    fail(Exit::environment, text("cannot write ", path.string(), ": it is a FIFO that nobody reads"),
         "start its reader first, or name a file");
  }
  if (!opened.is_open()) fail_errno(errno, "open for writing", path);
  struct stat status{};
  if (::fstat(opened.number(), &status) != 0) fail_errno(errno, "look at", path);
  if (!S_ISFIFO(status.st_mode) && !S_ISCHR(status.st_mode)) refuse_kind(path);
  // From here on a reader that is slow is waited for.
  const int flags = ::fcntl(opened.number(), F_GETFL);
  if (flags < 0 || ::fcntl(opened.number(), F_SETFL, flags & ~O_NONBLOCK) != 0)
    fail_errno(errno, "open for writing", path);
  return std::make_unique<DiskFile>(std::move(opened), path);
}

void DiskStorage::rename(const Path& from, const Path& to) {
  if (after_signals([&] { return ::rename(from.c_str(), to.c_str()); }) != 0) {
    fail_errno(errno, text("rename ", from.string(), " to"), to);
  }
}

void DiskStorage::exchange(const Path& one, const Path& other) {
  const auto swap = [&] {
    return ::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE);
  };
  if (after_signals(swap) == 0) return;
  const bool is_unknown = errno == EINVAL || errno == ENOSYS;
  if (!is_unknown) fail_errno(errno, text("exchange ", one.string(), " and"), other);
  const Path aside = temporary_beside(one);
  rename(other, aside);
  rename(one, other);
  rename(aside, one);
}

void DiskStorage::sync_folder(const Path& folder) {
  const char* path = folder.empty() ? "." : folder.c_str();
  const Descriptor opened(after_signals([&] { return ::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!opened.is_open()) fail_errno(errno, "open the folder", folder);
  // Some file systems do not know how to sync a folder and say EINVAL.
  if (after_signals([&] { return ::fsync(opened.number()); }) != 0 && errno != EINVAL)
    fail_errno(errno, "sync the folder", folder);
}

void DiskStorage::remove_all(const Path& path) {
  if (after_signals([&] { return ::unlink(path.c_str()); }) == 0 || errno == ENOENT) return;
  const bool may_be_a_folder = errno == EISDIR || errno == EPERM;
  if (!may_be_a_folder) fail_errno(errno, "remove", path);
  std::error_code error;
  do {
    std::filesystem::remove_all(path, error);
  } while (error.value() == EINTR);
  if (error) fail_errno(error.value(), "remove", path);
}

void DiskStorage::replace_link(const Path& link, const Path& target) {
  const Path temporary = temporary_beside(link);
  if (after_signals([&] { return ::symlink(target.c_str(), temporary.c_str()); }) != 0)
    fail_errno(errno, "create the link", temporary);
  if (after_signals([&] { return ::rename(temporary.c_str(), link.c_str()); }) != 0) {
    const int code = errno;
    ::unlink(temporary.c_str());
    fail_errno(code, "replace the link", link);
  }
}

uint64_t DiskStorage::free_bytes(const Path& folder) {
  const auto room = disk_room(folder);
  if (!room) fail_errno(errno, "ask for the free space of", folder);
  return room->free_bytes;
}

void DiskStorage::point(std::string_view /*name*/) {}

}  // namespace larmor
