// The system calls that this process makes on files of one folder: recorded, and refused where a test says
// so. Whoever links this library has the C library's open, write, fsync … replaced by functions that look for
// a watch first.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace larmor::testing {

/// "open", "write", "fsync", "close", "rename", "mkdir", "symlink", "unlink", "chmod", "statvfs", or "list":
/// the opening of a folder by the standard library, which goes through its entries.
struct SystemCall {
  std::string name = {};
  std::string path = {};  // relative to the folder; without the random number of write_text()'s own files
  size_t number = 0;      // how many of the same name and path came before it
  bool operator==(const SystemCall&) const = default;
};

/// While it lives, calls on files below `folder` are recorded, and reported as failed with the errno that
/// `fault` gives (0: carried out). A close that fails has closed all the same, as on Linux. One at a time in
/// a process; calls may come from any thread.
class SystemCallWatch {
 public:
  using Fault = std::function<int(const SystemCall&)>;
  SystemCallWatch(const std::filesystem::path& folder, Fault fault);
  ~SystemCallWatch();
  SystemCallWatch(const SystemCallWatch&) = delete;
  SystemCallWatch& operator=(const SystemCallWatch&) = delete;

  const std::vector<SystemCall>& calls() const { return calls_; }
  /// For the functions that stand in for the C library's.
  int enter(const char* name, const std::filesystem::path& path);

 private:
  std::string folder_;
  Fault fault_;
  std::mutex mutex_;
  std::vector<SystemCall> calls_;
};

/// Descriptors that this process has open.
size_t open_descriptors();

}  // namespace larmor::testing
