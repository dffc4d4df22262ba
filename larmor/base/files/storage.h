// Where durable bytes go. Checkpoints, logs and caches write through this interface, so that tests can
// make any operation fail, or stop the process, at a named point.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace larmor {

/// One file being written. Errors are thrown as Error (environment), naming the path and errno.
class StorageFile {
 public:
  virtual ~StorageFile() = default;
  virtual void write(std::span<const std::byte> bytes) = 0;
  void write(std::string_view bytes) { write(std::as_bytes(std::span(bytes))); }
  /// Blocks. The bytes are on the device when this returns. After a failed sync the file is lost: a
  /// second sync may lie, so write a new file instead.
  virtual void sync() = 0;
  virtual void close() = 0;
};

class Storage {
 public:
  using Path = std::filesystem::path;
  virtual ~Storage() = default;

  virtual void create_folders(const Path& folder) = 0;  // mode 0700; there after a power cut
  /// A file that was not there: what stands under that name, a link too, is an error.
  virtual std::unique_ptr<StorageFile> create(const Path& file) = 0;
  /// Appends to the end of a file, made where there is none, or of a device of characters. Through no link.
  virtual std::unique_ptr<StorageFile> append(const Path& file) = 0;
  /// Writes to what is no file and takes bytes as they come: a FIFO that is read, a device of characters.
  /// Links are followed. Opening never waits; writing does while nobody reads.
  virtual std::unique_ptr<StorageFile> stream(const Path& path) = 0;
  virtual void rename(const Path& from, const Path& to) = 0;
  /// Each has the other's name afterwards: in one step, but on file systems that cannot (NFS).
  virtual void exchange(const Path& one, const Path& other) = 0;
  virtual void sync_folder(const Path& folder) = 0;
  virtual void remove_all(const Path& path) = 0;
  /// Makes `link` point to `target` (relative), replacing an older link in one step.
  virtual void replace_link(const Path& link, const Path& target) = 0;
  virtual uint64_t free_bytes(const Path& folder) = 0;

  /// A named place in a protocol ("checkpoint.manifest.written"). The real storage does nothing here.
  virtual void point(std::string_view name) = 0;
};

/// The real one: POSIX calls.
class DiskStorage final : public Storage {
 public:
  void create_folders(const Path& folder) override;
  std::unique_ptr<StorageFile> create(const Path& file) override;
  std::unique_ptr<StorageFile> append(const Path& file) override;
  std::unique_ptr<StorageFile> stream(const Path& path) override;
  void rename(const Path& from, const Path& to) override;
  void exchange(const Path& one, const Path& other) override;
  void sync_folder(const Path& folder) override;
  void remove_all(const Path& path) override;
  void replace_link(const Path& link, const Path& target) override;
  uint64_t free_bytes(const Path& folder) override;
  void point(std::string_view name) override;
};

/// Works on the real disk, records every operation by name, and runs `before` first: it may throw an
/// Error or kill the process. For tests; also what LARMOR_FAIL_POINT drives in whole-process tests.
/// Thread-safe, but read `operations` only when all threads have done their work.
class FaultyStorage final : public Storage {
 public:
  struct Operation {
    /// "create_folders", "create", "append", "stream", "write", "sync", "close", "rename", "exchange",
    /// "sync_folder", "remove_all", "link", "free_bytes", or a point's name.
    std::string name;
    Path path;  // empty at a point
  };
  using Fault = std::function<void(const Operation&)>;

  explicit FaultyStorage(Fault before) : before_(std::move(before)) {}

  const std::vector<Operation>& operations() const { return operations_; }

  void create_folders(const Path& folder) override;
  std::unique_ptr<StorageFile> create(const Path& file) override;
  std::unique_ptr<StorageFile> append(const Path& file) override;
  std::unique_ptr<StorageFile> stream(const Path& path) override;
  void rename(const Path& from, const Path& to) override;
  void exchange(const Path& one, const Path& other) override;
  void sync_folder(const Path& folder) override;
  void remove_all(const Path& path) override;
  void replace_link(const Path& link, const Path& target) override;
  uint64_t free_bytes(const Path& folder) override;
  void point(std::string_view name) override;

  /// Records, then runs the fault. Public for the files this storage hands out.
  void enter(std::string name, const Path& path);

 private:
  DiskStorage disk_;
  std::mutex mutex_;
  Fault before_;
  std::vector<Operation> operations_;
};

/// The disk; or, when the environment names LARMOR_FAIL_POINT=<operation or point>[:<nth>][:<how>], a
/// FaultyStorage that does so: the nth time (1), or from then on when a `+` follows the number, by SIGKILL
/// (kill, the default), an error: full, io, quota, readonly, files (too many are open), stale (of a network
/// file system), or a second late (slow). One place decides, so that every program under test can be broken.
std::unique_ptr<Storage> make_storage();

}  // namespace larmor
