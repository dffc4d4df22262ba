// A scratch folder whose syncs cost nothing.
#pragma once

#include <filesystem>

namespace larmor::testing {

/// A folder of its own in memory where the machine has one (/dev/shm), else below the system's temporary
/// folder; removed at the end of its lifetime. For tests that make thousands of trees.
class MemoryFolder {
 public:
  MemoryFolder();
  ~MemoryFolder();
  MemoryFolder(const MemoryFolder&) = delete;
  MemoryFolder& operator=(const MemoryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace larmor::testing
