// Files and parts of files that libraries of others unpack, beside the frames of frame_decoder.h: gzip,
// deflate, PNG and JPEG.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace larmor {

enum class Packing : uint32_t {
  gzip = 1,           // all members, one after the other
  deflate,            // raw
  deflate_beginning,  // the same of which no more is wanted than there is room for: zeros where nothing came
  png,
  jpeg,
  jpeg_in_grey  // one channel: the brightness that JPEG keeps apart from the colours
};
inline constexpr Packing last_packing = Packing::jpeg_in_grey;

inline bool is_picture(Packing packing) { return packing >= Packing::png; }

struct Unpacked {
  enum class End : uint32_t {
    whole,
    full,    // there is more than room. Of a picture nothing has been written, but its size is known
    damaged  // of a picture: never, it is an Error that says how
  };
  End end = End::whole;
  uint64_t taken = 0;  // bytes of whole members; behind them is what is no gzip, or does not fit
  uint64_t given = 0;  // bytes
  // Of a picture: row by row, the samples of a pixel side by side, in the machine's byte order.
  int64_t columns = 0, rows = 0, samples = 0, sample_bytes = 0;
};

/// Unpacks in this process. Thread-safe. Throws Error (data): a picture that is damaged, or of a kind that is
/// not read; std::bad_alloc.
Unpacked unpack_here(Packing packing, std::span<const std::byte> packed, std::span<std::byte> out);

/// The bytes that the header of a PNG claims, without a look at anything else; 0 of anything else, and where
/// there is no header or they are many.
std::size_t claimed_bytes(Packing packing, std::span<const std::byte> packed);

}  // namespace larmor
