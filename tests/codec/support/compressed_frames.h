// Compressed frames for tests of decoders, which keep the bytes that they point to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "larmor/codec/encoded_pixels.h"

namespace larmor::testing {

/// Grey, 16 bits allocated unless told otherwise; one frame a piece.
class CompressedFrames {
 public:
  CompressedFrames(const std::string& transfer_syntax, int rows, int columns, int bits_stored);
  CompressedFrames(CompressedFrames&&) = default;  // the bytes stay where they are
  CompressedFrames& operator=(CompressedFrames&&) = delete;

  CompressedFrames& piece(const std::string& bytes);
  CompressedFrames& allocated(int bits);
  CompressedFrames& colours(const std::string& photometric);
  CompressedFrames& frames(int count);
  CompressedFrames& table(const std::vector<uint32_t>& offsets);

  const EncodedPixels& encoded() const { return encoded_; }
  std::size_t bytes() const { return decoded_bytes(encoded_); }

 private:
  EncodedPixels encoded_;
  std::deque<std::string> pieces_;
};

/// Values of a picture that lossless encoders cannot shrink to nothing.
std::vector<int> uneven_values(int rows, int columns, int bits);
/// Lossless JPEG of uneven_values.
CompressedFrames lossless_jpeg(int rows, int columns, int bits);
/// Little endian words, as decoders give them.
std::string as_words(const std::vector<int>& values);
std::string text_of(const std::vector<std::byte>& bytes);

inline constexpr const char* jpeg_lossless = "1.2.840.10008.1.2.4.70";
inline constexpr const char* jpeg_ls = "1.2.840.10008.1.2.4.80";

}  // namespace larmor::testing
