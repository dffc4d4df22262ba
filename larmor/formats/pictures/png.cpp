#include "larmor/formats/pictures/png.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include <spng.h>

#include "larmor/base/error.h"
#include "larmor/base/load_clock.h"
#include "larmor/base/text.h"
#include "larmor/formats/pictures/picture.h"
#include "larmor/formats/pictures/png_rows.h"

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
  int64_t samples, channels;
  VoxelType type;
};

Layout layout_of(const spng_ihdr& header) {
  const bool wide = header.bit_depth == 16;
  const VoxelType type = wide ? VoxelType::uint16 : VoxelType::uint8;
  switch (header.color_type) {
    case SPNG_COLOR_TYPE_GRAYSCALE:
      return {wide ? SPNG_FMT_PNG : SPNG_FMT_G8, 1, 1, type};
    case SPNG_COLOR_TYPE_GRAYSCALE_ALPHA:
      return {SPNG_FMT_PNG, 2, 1, type};
    case SPNG_COLOR_TYPE_TRUECOLOR:
      return {SPNG_FMT_PNG, 3, 3, type};
    case SPNG_COLOR_TYPE_TRUECOLOR_ALPHA:
      return {SPNG_FMT_PNG, 4, 3, type};
    default:
      return {SPNG_FMT_RGB8, 3, 3, VoxelType::uint8};  // a palette
  }
}

/// Deflate makes at most 1032 bytes of one, so more than that is a lie, whatever else the file holds.
void refuse_bomb(const spng_ihdr& header, std::size_t raw, std::size_t file) {
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

void to_machine_order(Bytes& words) {
  if constexpr (std::endian::native == std::endian::big) return;
  for (std::size_t at = 0; at + 1 < words.size(); at += 2) {
    uint16_t word = 0;
    std::memcpy(&word, words.data() + at, sizeof(word));
    word = __builtin_bswap16(word);
    std::memcpy(words.data() + at, &word, sizeof(word));
  }
}

bool unpack_usual(std::span<const std::byte> bytes, const spng_ihdr& header, Pixels& pixels) {
  const std::size_t width = bytes_of(pixels.type);
  auto rows = unpack_png_rows(bytes, {.rows = header.height,
                                      .pixels = header.width,
                                      .pixel_bytes = static_cast<std::size_t>(pixels.samples) * width});
  if (!rows) return false;
  if (width == 2) to_machine_order(*rows);
  pixels.bytes = std::move(*rows);
  return true;
}

void unpack_by_library(spng_ctx* context, const Layout& layout, std::size_t raw, Pixels& pixels) {
  const LoadScope stage(LoadStage::decompress);
  std::size_t needed = 0;
  check(spng_decoded_image_size(context, layout.format, &needed));
  if (needed != raw) fail(Exit::data, "the PNG data is damaged: its header contradicts itself");
  pixels.bytes = Bytes(raw);
  check(spng_decode_image(context, pixels.bytes.data(), raw, layout.format, 0));
  check(spng_decode_chunks(context));  // up to the end, which a cut file does not have
}

Pixels decode_png_rows(std::span<const std::byte> bytes, bool by_library) {
  constexpr std::size_t chunk_limit = std::size_t{16} << 20;  // of texts and colour profiles
  const Context context(spng_ctx_new(0), &spng_ctx_free);
  if (!context) throw std::bad_alloc();
  spng_set_crc_action(context.get(), SPNG_CRC_ERROR, SPNG_CRC_DISCARD);
  check(spng_set_chunk_limits(context.get(), chunk_limit, chunk_limit));
  check(spng_set_png_buffer(context.get(), bytes.data(), bytes.size()));
  spng_ihdr header{};
  check(spng_get_ihdr(context.get(), &header));
  const Layout layout = layout_of(header);
  Pixels pixels{.columns = header.width,
                .rows = header.height,
                .samples = layout.samples,
                .channels = layout.channels,
                .type = layout.type,
                .bytes = {}};
  const std::array<int64_t, 3> shape = {pixels.columns, pixels.rows, pixels.samples};
  const std::size_t raw = checked_bytes(shape, bytes_of(layout.type));
  refuse_bomb(header, raw, bytes.size());
  if (by_library || !is_usual(header) || !unpack_usual(bytes, header, pixels))
    unpack_by_library(context.get(), layout, raw, pixels);
  return pixels;
}

}  // namespace

bool looks_like_png(std::span<const std::byte> bytes) {
  constexpr std::array<unsigned char, 8> magic = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

Pixels decode_png(std::span<const std::byte> bytes) { return decode_png_rows(bytes, /*by_library=*/false); }

StoredArray parse_png(std::span<const std::byte> bytes, bool grey) {
  Pixels pixels = decode_png(bytes);
  return to_array(grey ? to_grey(std::move(pixels)) : std::move(pixels));
}

StoredArray parse_png_by_library(std::span<const std::byte> bytes) {
  return to_array(decode_png_rows(bytes, /*by_library=*/true));
}

}  // namespace larmor
