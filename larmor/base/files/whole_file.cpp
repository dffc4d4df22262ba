#include "larmor/base/files/whole_file.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <span>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "larmor/base/ensure.h"
#include "larmor/base/error.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/files/temporary_name.h"
#include "larmor/base/process/system_error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;

constexpr mode_t mode_of_new = 0600, bits_of_mode = 0777;

class WholeFile final : public StorageFile {
 public:
  WholeFile(Storage& storage, fs::path path, mode_t mode)
      : storage_(storage), path_(std::move(path)), temporary_(temporary_beside(path_)), mode_(mode) {
    naming([&] { file_ = storage_.create(temporary_); });
  }
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;
  ~WholeFile() override {
    if (file_) discard();
  }

  void write(std::span<const std::byte> bytes) override {
    attempt([&] { file_->write(bytes); });
    is_synced_ = false;
  }

  void sync() override {
    attempt([&] { file_->sync(); });
    is_synced_ = true;
  }

  void close() override {
    if (!is_synced_) sync();
    attempt([&] {
      file_->close();
      if (mode_ != mode_of_new) set_mode();
      storage_.rename(temporary_, path_);
    });
    file_.reset();
    try {
      storage_.sync_folder(temporary_.parent_path());
    } catch (const Error& error) {
      throw error.within(text(path_.string(), " is written, but might not outlast a power cut"));
    }
  }

 private:
  template <class Work>
  void naming(const Work& work) const {
    try {
      work();
    } catch (const Error& error) {
      throw error.within(text(path_.string(), " is not written"));
    }
  }

  template <class Work>
  void attempt(const Work& work) {
    ensure(file_ != nullptr);  // after an error there is nothing to go on with
    try {
      naming(work);
    } catch (...) {
      discard();
      throw;
    }
  }

  // A mode that cannot be had, as on a share of another system, is no reason not to write.
  void set_mode() const {
    const int result = ::fchmodat(AT_FDCWD, temporary_.c_str(), mode_, AT_SYMLINK_NOFOLLOW);
    static_cast<void>(result);
  }

  void discard() {
    file_.reset();
    ::unlink(temporary_.c_str());
  }

  Storage& storage_;
  const fs::path path_, temporary_;
  const mode_t mode_;
  std::unique_ptr<StorageFile> file_;
  bool is_synced_ = false;
};

// What a name of a person's stands for.
struct Place {
  fs::path file;  // without links
  bool is_stream = false;
  mode_t mode = mode_of_new;
};

// The kernel follows no such link when it opens a file (fs.protected_symlinks), and here a name is looked up
// without it: the link could make this user replace any of his files, or show one.
void refuse_planted(const fs::path& path, const struct stat& status) {
  struct stat folder{};
  const auto parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (::stat(parent.c_str(), &folder) != 0) fail_errno(errno, "look at the folder", parent);
  const bool is_trusted = status.st_uid == ::geteuid() || status.st_uid == folder.st_uid;
  if ((folder.st_mode & S_IWOTH) == 0 || is_trusted) return;
  fail(Exit::environment,
       text(path.string(), " belongs to another user, in a folder that everybody may write into"),
       "name a file in a folder of your own");
}

fs::path without_links(const fs::path& path) {
  constexpr int most_links = 40;  // as the kernel has it
  fs::path file = path;
  for (int links = 0;; ++links) {
    struct stat status{};
    if (::lstat(file.c_str(), &status) != 0) {
      if (errno != ENOENT) fail_errno(errno, "look at", file);
      return file;
    }
    if (!S_ISLNK(status.st_mode)) return file;
    if (links == most_links) fail_errno(ELOOP, "follow the links of", path);
    refuse_planted(file, status);
    std::error_code error;
    const fs::path target = fs::read_symlink(file, error);
    if (error) fail_errno(error.value(), "read the link", file);
    file = file.parent_path() / target;  // an absolute one stands alone
  }
}

// Its own words would stand among the bytes. What a device of characters makes of both is its affair, as that
// of /dev/null, but a person's screen is stdout.
bool is_own_stdout(const struct stat& status) {
  struct stat own{};
  if (::fstat(STDOUT_FILENO, &own) != 0) return false;
  if (status.st_dev != own.st_dev || status.st_ino != own.st_ino) return false;
  return !S_ISCHR(own.st_mode) || ::isatty(STDOUT_FILENO) != 0;
}

[[noreturn]] void refuse(const fs::path& path, std::string_view what, std::string_view instead) {
  fail(Exit::usage, text("the output ", path.string(), " is ", what), std::string(instead));
}

Place find_place(const fs::path& path) {
  if (!path.has_filename()) refuse(path, "no name of a file", "name a file");
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno != ENOENT) fail_errno(errno, "look at", path);
    return {.file = without_links(path)};
  }
  if (S_ISDIR(status.st_mode)) refuse(path, "a folder", "name a file in it");
  if (S_ISSOCK(status.st_mode)) refuse(path, "a socket", "name a file, or a FIFO with a reader");
  if (S_ISBLK(status.st_mode)) refuse(path, "a disk", "name a file on it");
  if (is_own_stdout(status))
    refuse(path, "where the program's own words go", "name a file, or a FIFO with a reader");
  Place place{.file = without_links(path), .mode = status.st_mode & bits_of_mode};
  struct stat found{};
  // Not the same file: another writer may have replaced it since.
  const bool has_name =
      ::lstat(place.file.c_str(), &found) == 0 && (found.st_mode & S_IFMT) == (status.st_mode & S_IFMT);
  if (!S_ISREG(status.st_mode)) {
    if (has_name) refuse_planted(place.file, status);
    // What a process hands over without a name, as `>(program)` of a shell, is known by that link alone.
    return {.file = has_name ? place.file : path, .is_stream = true};
  }
  if (!has_name) refuse(path, "a file without a name", "name a file, or a FIFO with a reader");
  if (::faccessat(AT_FDCWD, place.file.c_str(), W_OK, AT_EACCESS) != 0)
    fail_errno(errno, "replace", place.file);
  return place;
}

}  // namespace

std::unique_ptr<StorageFile> create_whole(Storage& storage, const fs::path& path, mode_t mode) {
  return std::make_unique<WholeFile>(storage, path, mode);
}

std::unique_ptr<StorageFile> open_output(Storage& storage, const fs::path& path) {
  const Place place = find_place(path);
  return place.is_stream ? storage.stream(place.file) : create_whole(storage, place.file, place.mode);
}

void write_output(Storage& storage, const fs::path& path, std::string_view content) {
  const auto file = open_output(storage, path);
  file->write(content);
  file->sync();
  file->close();
}

}  // namespace larmor
