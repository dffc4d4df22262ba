#include "larmor/codec/png_picture.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>

#include <spng.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/codec/png_rows.h"

namespace larmor {

namespace {

using Context = std::unique_ptr<spng_ctx, decltype(&spng_ctx_free)>;

void check(int code) {
  if (code == 0) return;
  if (code == SPNG_EOF) fail(Exit::data, "the PNG data is cut short", "fetch the file again");
  fail(Exit::data, text("the PNG data is damaged: ", spng_strerror(code)), "fetch the file again");
}

struct Layout {
  int format;  // of libspng
  uint64_t samples, sample_bytes;
};

Layout layout_of(const spng_ihdr& header) {
  const bool wide = header.bit_depth == 16;
  const uint64_t sample_bytes = wide ? 2 : 1;
  switch (header.color_type) {
    case SPNG_COLOR_TYPE_GRAYSCALE:
      return {wide ? SPNG_FMT_PNG : SPNG_FMT_G8, 1, sample_bytes};
    case SPNG_COLOR_TYPE_GRAYSCALE_ALPHA:
      return {SPNG_FMT_PNG, 2, sample_bytes};
    case SPNG_COLOR_TYPE_TRUECOLOR:
      return {SPNG_FMT_PNG, 3, sample_bytes};
    case SPNG_COLOR_TYPE_TRUECOLOR_ALPHA:
      return {SPNG_FMT_PNG, 4, sample_bytes};
    default:
      return {SPNG_FMT_RGB8, 3, 1};  // a palette
  }
}

/// The largest number where there is none so large.
uint64_t bytes_of(const spng_ihdr& header, const Layout& layout) {
  uint64_t bytes = uint64_t{header.width} * header.height;
  return __builtin_mul_overflow(bytes, layout.samples * layout.sample_bytes, &bytes)
             ? std::numeric_limits<uint64_t>::max()
             : bytes;
}

/// Deflate makes at most 1032 bytes of one, so more than that is a lie, whatever else the file holds.
void refuse_bomb(const spng_ihdr& header, uint64_t raw, std::size_t file) {
  constexpr uint64_t deflate_ratio = 1032, slack = 4096;
  const bool packed = header.color_type == SPNG_COLOR_TYPE_INDEXED || header.bit_depth < 8;
  const uint64_t least = packed ? raw / 24 : raw;  // one bit becomes three bytes at most
  if (least <= deflate_ratio * file + slack) return;
  fail(Exit::data, text("is cut short: its header claims ", header.width, " x ", header.height,
                        " pixels, which ", file, " bytes cannot hold"));
}

/// Whole bytes a sample, in rows: what png_rows unpacks. 16 bits are in the network's order.
bool is_usual(const spng_ihdr& header) {
  return header.bit_depth >= 8 && header.color_type != SPNG_COLOR_TYPE_INDEXED &&
         header.interlace_method == SPNG_INTERLACE_NONE;
}

void to_machine_order(std::span<std::byte> words) {
  if constexpr (std::endian::native == std::endian::big) return;
  for (std::size_t at = 0; at + 1 < words.size(); at += 2) {
    uint16_t word = 0;
    std::memcpy(&word, words.data() + at, sizeof(word));
    word = __builtin_bswap16(word);
    std::memcpy(words.data() + at, &word, sizeof(word));
  }
}

bool unpack_usual(std::span<const std::byte> bytes, const spng_ihdr& header, const Layout& layout,
                  std::span<std::byte> pixels) {
  const bool is_unpacked = unpack_png_rows(
      bytes,
      {.rows = header.height, .pixels = header.width, .pixel_bytes = layout.samples * layout.sample_bytes},
      pixels);
  if (is_unpacked && layout.sample_bytes == 2) to_machine_order(pixels);
  return is_unpacked;
}

void unpack_by_library(spng_ctx* context, const Layout& layout, std::span<std::byte> pixels) {
  std::size_t needed = 0;
  check(spng_decoded_image_size(context, layout.format, &needed));
  if (needed != pixels.size()) fail(Exit::data, "the PNG data is damaged: its header contradicts itself");
  check(spng_decode_image(context, pixels.data(), pixels.size(), layout.format, 0));
  check(spng_decode_chunks(context));  // up to the end, which a cut file does not have
}

}  // namespace

Unpacked unpack_png(std::span<const std::byte> bytes, std::span<std::byte> out, bool by_library) {
  constexpr std::size_t chunk_limit = std::size_t{16} << 20;  // of texts and colour profiles
  const Context context(spng_ctx_new(0), &spng_ctx_free);
  if (!context) throw std::bad_alloc();
  spng_set_crc_action(context.get(), SPNG_CRC_ERROR, SPNG_CRC_DISCARD);
  check(spng_set_chunk_limits(context.get(), chunk_limit, chunk_limit));
  check(spng_set_png_buffer(context.get(), bytes.data(), bytes.size()));
  spng_ihdr header{};
  check(spng_get_ihdr(context.get(), &header));
  const Layout layout = layout_of(header);
  Unpacked picture{.columns = header.width,
                   .rows = header.height,
                   .samples = static_cast<int64_t>(layout.samples),
                   .sample_bytes = static_cast<int64_t>(layout.sample_bytes)};
  const uint64_t raw = bytes_of(header, layout);
  refuse_bomb(header, raw, bytes.size());  // before the caller makes room for what it claims
  if (raw > out.size()) {
    picture.end = Unpacked::End::full;
    return picture;
  }
  const auto pixels = out.first(raw);
  if (by_library || !is_usual(header) || !unpack_usual(bytes, header, layout, pixels))
    unpack_by_library(context.get(), layout, pixels);
  picture.given = raw;
  return picture;
}

std::size_t claimed_png_bytes(std::span<const std::byte> bytes) {
  constexpr std::size_t width_at = 16, behind_header = 26;
  constexpr uint64_t most = uint64_t{64} << 20;
  if (bytes.size() < behind_header) return 0;
  const auto word = [&](std::size_t at) {
    uint32_t number = 0;
    for (std::size_t i = 0; i < 4; ++i) number = number << 8 | std::to_integer<uint32_t>(bytes[at + i]);
    return number;
  };
  const spng_ihdr header{.width = word(width_at),
                         .height = word(width_at + 4),
                         .bit_depth = std::to_integer<uint8_t>(bytes[width_at + 8]),
                         .color_type = std::to_integer<uint8_t>(bytes[width_at + 9])};
  const uint64_t claim = bytes_of(header, layout_of(header));
  return claim <= most ? claim : 0;
}

}  // namespace larmor
