#include "larmor/codec/rle.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/codec/frame_pieces.h"

namespace larmor {

namespace {

constexpr std::size_t rle_table = 64;  // bytes: a count, and room for 15 offsets
constexpr const char* rle_damaged = "its compressed pixels cannot be decoded: ";

uint32_t rle_word(std::span<const std::byte> bytes, std::size_t index) {
  uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i) word |= std::to_integer<uint32_t>(bytes[4 * index + i]) << (8 * i);
  return word;
}

/// The segments of one frame, as its table says. They follow the table and each other without a gap.
std::vector<std::span<const std::byte>> find_segments(std::span<const std::byte> frame,
                                                      std::size_t expected) {
  if (frame.size() < rle_table) {
    fail(Exit::data, text(rle_damaged, "a frame of ", frame.size(), " bytes has no table of segments"),
         "fetch the file again");
  }
  const uint32_t count = rle_word(frame, 0);
  if (count != expected) {
    fail(Exit::data, text(rle_damaged, "a frame has ", count, " segments, and its samples need ", expected),
         "fetch the file again");
  }
  std::vector<std::span<const std::byte>> segments;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = rle_word(frame, 1 + i);
    const std::size_t end = i + 1 < count ? rle_word(frame, 2 + i) : frame.size();
    if (begin < rle_table || begin > end || end > frame.size()) {
      fail(Exit::data,
           text(rle_damaged, "segment ", i + 1, " lies from byte ", begin, " to ", end, " of ", frame.size()),
           "fetch the file again");
    }
    segments.push_back(frame.subspan(begin, end - begin));
  }
  return segments;
}

/// Segments are padded to an even length; some writers pad with more zeros, or with the code that means
/// nothing.
bool is_padding(std::span<const std::byte> rest) {
  return rest.size() <= 1 || std::all_of(rest.begin(), rest.end(), [](std::byte byte) {
           return byte == std::byte{0} || byte == std::byte{0x80};
         });
}

/// Bytes of `plane`, one after the other, each `stride` bytes behind the one before.
class PlaneWriter {
 public:
  PlaneWriter(std::byte* plane, std::size_t count, std::size_t stride)
      : at_(plane), left_(count), stride_(stride) {}

  std::size_t left() const { return left_; }
  void put(std::byte value) {
    *at_ = value;
    at_ += stride_;
    --left_;
  }

 private:
  std::byte* at_;
  std::size_t left_, stride_;
};

void unpack_segment(std::span<const std::byte> segment, std::size_t number, PlaneWriter plane) {
  std::size_t at = 0;
  const std::size_t wanted = plane.left();
  while (plane.left() > 0 && at < segment.size()) {
    const auto code = std::to_integer<std::size_t>(segment[at++]);
    if (code == 128) continue;
    const bool is_run = code > 128;
    const std::size_t length = is_run ? 257 - code : code + 1;
    const std::size_t there = segment.size() - at;
    if (length > plane.left()) {
      fail(Exit::data, text(rle_damaged, "segment ", number, " holds more than its ", wanted, " bytes"),
           "fetch the file again");
    }
    if (there < (is_run ? 1 : length)) break;
    for (std::size_t i = 0; i < length; ++i) plane.put(segment[is_run ? at : at + i]);
    at += is_run ? 1 : length;
  }
  if (plane.left() > 0) {
    fail(Exit::data,
         text("is cut short: segment ", number, " of its compressed pixels gives ", wanted - plane.left(),
              " of ", wanted, " bytes"),
         "fetch the file again");
  }
  if (!is_padding(segment.subspan(at))) {
    fail(Exit::data, text(rle_damaged, "segment ", number, " goes on behind its ", wanted, " bytes"),
         "fetch the file again");
  }
}

}  // namespace

DecodedForm unpack_rle(const EncodedPixels& encoded, std::span<std::byte> out) {
  const std::size_t frame_size = decoded_frame_bytes(encoded);
  const auto width = static_cast<std::size_t>(encoded.bits_allocated / 8);
  const auto samples = static_cast<std::size_t>(encoded.samples);
  const std::size_t pixel = width * samples, pixels = frame_size / std::max<std::size_t>(pixel, 1);
  std::vector<std::byte> joined;
  std::byte* frame = out.data();
  for (const FramePieces pieces : find_frame_pieces(encoded)) {
    const auto segments = find_segments(join_pieces(encoded, pieces, joined), pixel);
    for (std::size_t i = 0; i < segments.size(); ++i) {
      // Samples one after the other, of each the highest byte first.
      const std::size_t place = i / width * width + (width - 1 - i % width);
      unpack_segment(segments[i], i + 1, {frame + place, pixels, pixel});
    }
    frame += frame_size;
  }
  return {.photometric = encoded.photometric, .by_plane = false};
}

}  // namespace larmor
