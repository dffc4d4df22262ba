#include "tests/codec/support/compressed_frames.h"

#include <cstdint>

#include "tests/support/encoded_pixels.h"
#include "tests/support/image_files.h"

namespace larmor::testing {

CompressedFrames::CompressedFrames(const std::string& transfer_syntax, int rows, int columns, int bits_stored)
    : encoded_{.transfer_syntax = transfer_syntax,
               .photometric = "MONOCHROME2",
               .rows = rows,
               .columns = columns,
               .frames = 1,
               .samples = 1,
               .bits_allocated = 16,
               .bits_stored = bits_stored,
               .high_bit = bits_stored - 1,
               .fragments = {{}}} {}

CompressedFrames& CompressedFrames::piece(const std::string& bytes) {
  encoded_.fragments.push_back(as_bytes(pieces_.emplace_back(bytes)));
  encoded_.frames = static_cast<int>(encoded_.fragments.size() - 1);
  return *this;
}

CompressedFrames& CompressedFrames::allocated(int bits) {
  encoded_.bits_allocated = bits;
  return *this;
}

CompressedFrames& CompressedFrames::colours(const std::string& photometric) {
  encoded_.photometric = photometric;
  encoded_.samples = 3;
  return *this;
}

CompressedFrames& CompressedFrames::frames(int count) {
  encoded_.frames = count;
  return *this;
}

CompressedFrames& CompressedFrames::table(const std::vector<uint32_t>& offsets) {
  std::string bytes;
  for (const uint32_t offset : offsets) bytes += published(offset);
  encoded_.fragments.front() = as_bytes(pieces_.emplace_back(bytes));
  return *this;
}

std::vector<int> uneven_values(int rows, int columns, int bits) {
  std::vector<int> values;
  for (int i = 0; i < rows * columns; ++i) values.push_back((i * 2654435 >> 3 ^ i * 31) & ((1 << bits) - 1));
  return values;
}

CompressedFrames lossless_jpeg(int rows, int columns, int bits) {
  CompressedFrames frames(jpeg_lossless, rows, columns, bits);
  frames.piece(encoded_frame(jpeg_lossless, rows, columns, bits, uneven_values(rows, columns, bits)));
  return frames;
}

std::string as_words(const std::vector<int>& values) {
  std::string bytes;
  for (const int value : values) bytes += published(static_cast<uint16_t>(value));
  return bytes;
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace larmor::testing
