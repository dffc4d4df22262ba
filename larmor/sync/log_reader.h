// The event log of a run, read while it grows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "larmor/services/service.h"

namespace larmor {

class LogReader {
 public:
  /// Begins behind `place` bytes; at the beginning where the log is shorter, because it is another one then.
  LogReader(std::filesystem::path file, uint64_t place) : file_(std::move(file)), place_(place) {}

  /// Reads at most `most` of the lines that are whole and not read yet: those of the log's form, with numbers
  /// or words in them. None where there is no log. Throws Error (environment) where it cannot be read.
  std::vector<SentEvent> read(size_t most);
  /// The place behind the last line that was read, in bytes.
  uint64_t place() const { return place_; }
  /// Whole lines that are not of the form that is known.
  int64_t unread_lines() const { return unread_lines_; }

 private:
  std::filesystem::path file_;
  uint64_t place_;
  int64_t unread_lines_ = 0;
};

}  // namespace larmor
