#include "larmor/net/sealed_frames.h"

#include <cassert>

namespace larmor {
namespace {

constexpr size_t length_bytes = 4, seal_bytes = 32;

/// Of that many bytes, the highest one first.
std::string big_endian(uint64_t number, size_t bytes) {
  std::string all(bytes, '\0');
  for (size_t i = bytes; i-- > 0; number >>= 8) all[i] = static_cast<char>(number & 0xff);
  return all;
}

size_t length_from(std::string_view bytes) {
  size_t length = 0;
  for (const unsigned char byte : bytes.substr(0, length_bytes)) length = (length << 8) | byte;
  return length;
}

}  // namespace

std::string FrameWriter::seal(std::string_view message) {
  assert(message.size() <= longest_frame);
  std::string frame = big_endian(message.size(), length_bytes);
  frame += message;
  frame += as_text(hmac_sha256(key_, {big_endian(number_++, sizeof(number_)), frame}));
  return frame;
}

std::vector<std::string> FrameReader::open(std::string_view bytes) {
  std::vector<std::string> messages;
  if (is_broken_) return messages;
  incoming_ += bytes;
  size_t begin = 0;
  while (!is_broken_ && incoming_.size() - begin >= length_bytes) {
    const std::string_view rest = std::string_view(incoming_).substr(begin);
    const size_t length = length_from(rest), sealed = length_bytes + length;
    is_broken_ = length > longest_frame;
    if (is_broken_ || rest.size() < sealed + seal_bytes) break;
    const auto code = hmac_sha256(key_, {big_endian(number_, sizeof(number_)), rest.substr(0, sealed)});
    is_broken_ = !equal_in_constant_time(as_text(code), rest.substr(sealed, seal_bytes));
    if (is_broken_) break;
    messages.emplace_back(rest.substr(length_bytes, length));
    begin += sealed + seal_bytes;
    ++number_;
  }
  incoming_.erase(0, begin);
  if (is_broken_) incoming_ = std::string();
  return messages;
}

}  // namespace larmor
