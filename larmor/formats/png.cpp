#include "larmor/formats/png.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include <spng.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/formats/picture.h"

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

}  // namespace

bool looks_like_png(std::span<const std::byte> bytes) {
  constexpr std::array<unsigned char, 8> magic = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

StoredArray parse_png(std::span<const std::byte> bytes) {
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
  std::size_t needed = 0;
  check(spng_decoded_image_size(context.get(), layout.format, &needed));
  if (needed != raw) fail(Exit::data, "the PNG data is damaged: its header contradicts itself");
  pixels.bytes = Bytes(raw);
  check(spng_decode_image(context.get(), pixels.bytes.data(), raw, layout.format, 0));
  check(spng_decode_chunks(context.get()));  // up to the end, which a cut file does not have
  return to_array(std::move(pixels));
}

}  // namespace larmor
