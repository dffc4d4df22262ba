#include "larmor/base/storage.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "larmor/base/system_error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

constexpr mode_t folder_mode = 0700;
constexpr mode_t file_mode = 0600;

class DiskFile final : public StorageFile {
 public:
  DiskFile(int descriptor, std::filesystem::path path) : descriptor_(descriptor), path_(std::move(path)) {}
  DiskFile(const DiskFile&) = delete;
  DiskFile& operator=(const DiskFile&) = delete;
  ~DiskFile() override {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  void write(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t count = after_signals([&] { return ::write(descriptor_, bytes.data(), bytes.size()); });
      if (count <= 0) fail_errno(count < 0 ? errno : EIO, "write", path_);
      bytes = bytes.subspan(static_cast<size_t>(count));
    }
  }

  void sync() override {
    // The kernel drops dirty pages after a failed fsync and reports the next one as good.
    if (lost_) fail_errno(EIO, "sync", path_);
    if (after_signals([&] { return ::fsync(descriptor_); }) != 0 && errno != EINVAL) {
      lost_ = true;
      fail_errno(errno, "sync", path_);
    }
  }

  void close() override {
    if (descriptor_ < 0) return;
    const int result = ::close(descriptor_);
    descriptor_ = -1;
    // Network file systems report a full disk here. After EINTR the descriptor is gone all the same.
    if (result != 0 && errno != EINTR) fail_errno(errno, "close", path_);
  }

 private:
  int descriptor_;
  std::filesystem::path path_;
  bool lost_ = false;
};

// A new file gets our mode whatever the umask; one that was there keeps its own. A link is refused: who may
// write into the folder could have it lead to any file of ours.
std::unique_ptr<StorageFile> open_file(const std::filesystem::path& path, int flags) {
  flags |= O_WRONLY | O_CLOEXEC | O_NOFOLLOW;
  int descriptor = after_signals([&] { return ::open(path.c_str(), flags | O_CREAT | O_EXCL, file_mode); });
  if (descriptor >= 0) {
    ::fchmod(descriptor, file_mode);
  } else if (errno == EEXIST) {
    descriptor = after_signals([&] { return ::open(path.c_str(), flags); });
  }
  if (descriptor < 0) fail_errno(errno, "open for writing", path);
  return std::make_unique<DiskFile>(descriptor, path);
}

// False when it was there.
bool create_folder(const std::filesystem::path& folder) {
  if (after_signals([&] { return ::mkdir(folder.c_str(), folder_mode); }) == 0) {
    ::chmod(folder.c_str(), folder_mode);
    return true;
  }
  const int code = errno;
  struct stat status{};
  const bool exists = ::stat(folder.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) return false;
  fail_errno(exists ? ENOTDIR : code, "create the folder", folder);
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

std::unique_ptr<StorageFile> DiskStorage::create(const Path& file) { return open_file(file, O_TRUNC); }

std::unique_ptr<StorageFile> DiskStorage::append(const Path& file) { return open_file(file, O_APPEND); }

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
  const Path aside = one.string() + ".aside";
  rename(other, aside);
  rename(one, other);
  rename(aside, one);
}

void DiskStorage::sync_folder(const Path& folder) {
  const char* path = folder.empty() ? "." : folder.c_str();
  const int descriptor = after_signals([&] { return ::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (descriptor < 0) fail_errno(errno, "open the folder", folder);
  const int result = after_signals([&] { return ::fsync(descriptor); });
  const int code = errno;
  ::close(descriptor);
  // Some file systems do not know how to sync a folder and say EINVAL.
  if (result != 0 && code != EINVAL) fail_errno(code, "sync the folder", folder);
}

void DiskStorage::remove_all(const Path& path) {
  std::error_code error;
  do {
    std::filesystem::remove_all(path, error);
  } while (error.value() == EINTR);
  if (error) fail_errno(error.value(), "remove", path);
}

void DiskStorage::replace_link(const Path& link, const Path& target) {
  const Path temporary = link.string() + text(".new-", ::getpid());
  ::unlink(temporary.c_str());
  if (after_signals([&] { return ::symlink(target.c_str(), temporary.c_str()); }) != 0)
    fail_errno(errno, "create the link", temporary);
  if (after_signals([&] { return ::rename(temporary.c_str(), link.c_str()); }) != 0) {
    const int code = errno;
    ::unlink(temporary.c_str());
    fail_errno(code, "replace the link", link);
  }
}

uint64_t DiskStorage::free_bytes(const Path& folder) {
  struct statvfs status{};
  if (after_signals([&] { return ::statvfs(folder.c_str(), &status); }) != 0)
    fail_errno(errno, "ask for the free space of", folder);
  return uint64_t{status.f_bavail} * status.f_frsize;
}

void DiskStorage::point(std::string_view /*name*/) {}

}  // namespace larmor
