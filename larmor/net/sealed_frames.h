// Messages as bytes that nobody between two processes can change, repeat, leave out or reorder unseen: a
// length, the message, and a code of both and of its number. They can be read by whoever sees the wire.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "larmor/base/hmac.h"

namespace larmor {

constexpr size_t longest_frame = size_t{4} << 20;

class FrameWriter {
 public:
  explicit FrameWriter(const Digest& key) : key_(key) {}
  ~FrameWriter() { wipe(key_); }
  /// Requires: no more than longest_frame bytes.
  std::string seal(std::string_view message);

 private:
  Digest key_;
  uint64_t number_ = 0;
};

class FrameReader {
 public:
  explicit FrameReader(const Digest& key) : key_(key) {}
  ~FrameReader() { wipe(key_); }
  /// The whole messages that these bytes complete. After a wrong one nothing more is taken.
  std::vector<std::string> open(std::string_view bytes);
  /// Some bytes were not what the other side sent, or not in their place.
  bool is_broken() const { return is_broken_; }

 private:
  Digest key_;
  uint64_t number_ = 0;
  bool is_broken_ = false;
  std::string incoming_;
};

}  // namespace larmor
