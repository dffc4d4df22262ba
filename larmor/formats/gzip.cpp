#include "larmor/formats/gzip.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include <libdeflate.h>

#include "larmor/base/ensure.h"
#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/formats/stage_clock.h"

namespace larmor {

namespace {

struct FreeDecompressor {
  void operator()(libdeflate_decompressor* pointer) const { libdeflate_free_decompressor(pointer); }
};
struct FreeCompressor {
  void operator()(libdeflate_compressor* pointer) const { libdeflate_free_compressor(pointer); }
};
using Decompressor = std::unique_ptr<libdeflate_decompressor, FreeDecompressor>;

Decompressor make_decompressor() {
  Decompressor decompressor(libdeflate_alloc_decompressor());
  if (!decompressor) throw std::bad_alloc();
  return decompressor;
}

/// The length that a member's last four bytes claim, modulo 2^32.
uint64_t claimed_length(std::span<const std::byte> bytes) {
  uint64_t length = 0;
  for (int i = 0; i < 4; ++i) {
    length |= std::to_integer<uint64_t>(bytes[bytes.size() - 4 + static_cast<std::size_t>(i)]) << (8 * i);
  }
  return length;
}

Bytes grown(const Bytes& old, std::size_t used, std::size_t size) {
  Bytes larger(size);
  if (used > 0) std::memcpy(larger.data(), old.data(), used);
  return larger;
}

bool all_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{0}; });
}

}  // namespace

uint64_t InflateLimits::largest(uint64_t compressed) const {
  const uint64_t by_ratio = compressed > bytes / ratio ? bytes : compressed * ratio;
  return std::min(bytes, std::max(ratio_free, by_ratio));
}

bool is_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

Gunzipped gunzip(std::span<const std::byte> bytes, const InflateLimits& limits) {
  const StageScope stage(LoadStage::decompress);
  constexpr std::size_t shortest_member = 18;
  if (bytes.size() < shortest_member) fail(Exit::data, "the gzip data is cut short");
  const Decompressor decompressor = make_decompressor();
  const uint64_t largest = limits.largest(bytes.size());
  Gunzipped result;
  result.bytes =
      Bytes(std::clamp<uint64_t>(claimed_length(bytes), std::min<uint64_t>(4096, largest), largest));
  std::size_t used = 0, written = 0;
  while (used < bytes.size()) {
    const auto rest = bytes.subspan(used);
    if (used > 0 && !is_gzip(rest)) {
      result.ignored = all_zero(rest) ? 0 : rest.size();
      break;
    }
    std::size_t taken = 0, given = 0;
    const auto outcome = libdeflate_gzip_decompress_ex(decompressor.get(), rest.data(), rest.size(),
                                                       result.bytes.data() + written,
                                                       result.bytes.size() - written, &taken, &given);
    if (outcome == LIBDEFLATE_SUCCESS) {
      used += taken;
      written += given;
    } else if (outcome == LIBDEFLATE_INSUFFICIENT_SPACE && result.bytes.size() < largest) {
      result.bytes = grown(result.bytes, written, std::min<uint64_t>(largest, 2 * result.bytes.size()));
    } else if (outcome == LIBDEFLATE_INSUFFICIENT_SPACE) {
      fail(Exit::data, text("the gzip data unpacks to more than ", human_bytes(largest), " (", bytes.size(),
                            " bytes packed): not an image, or larger than this program reads"));
    } else {
      fail(Exit::data, text("the gzip data is damaged or cut short, after ", written, " good bytes"),
           "fetch the file again");
    }
  }
  result.bytes.shorten(written);
  return result;
}

Bytes gzip(std::span<const std::byte> bytes, int level) {
  const std::unique_ptr<libdeflate_compressor, FreeCompressor> compressor(libdeflate_alloc_compressor(level));
  if (!compressor) throw std::bad_alloc();
  Bytes packed(libdeflate_gzip_compress_bound(compressor.get(), bytes.size()));
  const std::size_t size =
      libdeflate_gzip_compress(compressor.get(), bytes.data(), bytes.size(), packed.data(), packed.size());
  ensure(size > 0);
  packed.shorten(size);
  return packed;
}

Bytes inflate(std::span<const std::byte> bytes, std::size_t size) {
  const StageScope stage(LoadStage::decompress);
  const Decompressor decompressor = make_decompressor();
  Bytes plain(size);
  const auto outcome = libdeflate_deflate_decompress(decompressor.get(), bytes.data(), bytes.size(),
                                                     plain.data(), size, nullptr);
  if (outcome != LIBDEFLATE_SUCCESS)
    fail(Exit::data, text("the packed data does not give the ", size, " bytes it claims"));
  return plain;
}

Bytes inflate(std::span<const std::byte> bytes, const InflateLimits& limits) {
  const StageScope stage(LoadStage::decompress);
  const Decompressor decompressor = make_decompressor();
  const uint64_t largest = limits.largest(bytes.size());
  uint64_t size = std::min<uint64_t>(largest, 4096 + 4 * uint64_t{bytes.size()});
  while (true) {
    Bytes plain(size);
    std::size_t given = 0;
    const auto outcome = libdeflate_deflate_decompress(decompressor.get(), bytes.data(), bytes.size(),
                                                       plain.data(), plain.size(), &given);
    if (outcome == LIBDEFLATE_SUCCESS) {
      plain.shorten(given);
      return plain;
    }
    if (outcome != LIBDEFLATE_INSUFFICIENT_SPACE)
      fail(Exit::data, "the deflated data is damaged or cut short", "fetch the file again");
    if (size == largest)
      fail(Exit::data, text("the deflated data unpacks to more than ", human_bytes(largest)));
    size = std::min(largest, 2 * size);
  }
}

uint32_t crc32(std::span<const std::byte> bytes) { return libdeflate_crc32(0, bytes.data(), bytes.size()); }

}  // namespace larmor
