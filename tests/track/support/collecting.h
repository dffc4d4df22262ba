// Reads back what the sinks wrote, and counts the warnings they raised.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "larmor/base/files/storage.h"
#include "larmor/track/tracker.h"

namespace larmor {

std::vector<std::string> lines_of(const std::filesystem::path& file);
/// How often `words` stand in `content`.
int count(const std::string& content, const std::string& words);

/// A storage on which `operation` ("write") fails as on a full disk while `is_full` is set.
struct FullDisk {
  explicit FullDisk(std::string operation);
  bool is_full = false;
  FaultyStorage storage;
};

/// A descriptor to write to and everything that was written: a pipe, or a terminal of so many columns.
class Screen {
 public:
  static Screen pipe() { return Screen(0); }
  static Screen terminal(int columns) { return Screen(columns); }
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  int descriptor() const { return write_end_; }
  /// What was written since the last call.
  std::string take();
  void close_reader();

 private:
  explicit Screen(int columns);
  int read_end_ = -1, write_end_ = -1;
};

}  // namespace larmor
