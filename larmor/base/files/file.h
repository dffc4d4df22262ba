// Reading small files, and writing text that is either old or new, never half.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "larmor/base/process/descriptor.h"

namespace larmor {

class Storage;

/// Throws Error (environment) naming the path; refuses files over `limit` bytes.
std::string read_text(const std::filesystem::path& path, uint64_t limit = uint64_t{1} << 30);

/// Writes beside `path`, syncs, renames over it, syncs the folder.
void write_text(Storage& storage, const std::filesystem::path& path, std::string_view content);

/// A folder of its own under the system's temporary folder, removed at the end of its lifetime.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Holds an exclusive lock on `path` (created if absent) until destroyed. When another process holds it
/// throws Error (environment) naming the holder's process and host. A holder that has not yet written its
/// name is given a second for it.
class FileLock {
 public:
  explicit FileLock(const std::filesystem::path& path);
  FileLock(FileLock&& other) noexcept = default;
  FileLock& operator=(FileLock&&) = delete;

 private:
  Descriptor file_;
};

}  // namespace larmor
