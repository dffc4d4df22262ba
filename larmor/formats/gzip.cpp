#include "larmor/formats/gzip.h"

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include <libdeflate.h>

#include "larmor/base/ensure.h"
#include "larmor/base/error.h"
#include "larmor/base/load_clock.h"
#include "larmor/base/text.h"
#include "larmor/codec/decoder_pool.h"

namespace larmor {

namespace {

constexpr std::size_t shortest_member = 18;

struct FreeCompressor {
  void operator()(libdeflate_compressor* pointer) const { libdeflate_free_compressor(pointer); }
};

/// The length that a member's last four bytes claim, modulo 2^32.
uint64_t claimed_length(std::span<const std::byte> bytes) {
  uint64_t length = 0;
  for (int i = 0; i < 4; ++i) {
    length |= std::to_integer<uint64_t>(bytes[bytes.size() - 4 + static_cast<std::size_t>(i)]) << (8 * i);
  }
  return length;
}

/// Room for the claimed voxels on top.
uint64_t raised(uint64_t largest, const InflateLimits& limits, uint64_t claim) {
  return std::min(limits.bytes, largest + std::min(claim, limits.bytes));
}

bool all_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{0}; });
}

/// Little-endian.
std::size_t short_at(std::span<const std::byte> bytes, std::size_t at) {
  return std::to_integer<std::size_t>(bytes[at]) | std::to_integer<std::size_t>(bytes[at + 1]) << 8;
}

/// Where the deflated data of the first member start; nothing when that lies behind the bytes. Source: RFC
/// 1952.
std::optional<std::size_t> find_deflate(std::span<const std::byte> bytes) {
  constexpr unsigned has_extra = 4, has_name = 8, has_comment = 16, has_checksum = 2;
  if (bytes.size() < shortest_member || !is_gzip(bytes) || bytes[2] != std::byte{8}) return std::nullopt;
  const auto flags = std::to_integer<unsigned>(bytes[3]);
  std::size_t at = 10;
  if ((flags & has_extra) != 0) at += 2 + short_at(bytes, at);
  for (const unsigned text : {has_name, has_comment}) {
    if ((flags & text) == 0) continue;
    while (at < bytes.size() && bytes[at] != std::byte{0}) ++at;
    ++at;
  }
  if ((flags & has_checksum) != 0) at += 2;
  return at < bytes.size() ? std::optional(at) : std::nullopt;
}

}  // namespace

uint64_t InflateLimits::largest(uint64_t compressed) const {
  const uint64_t by_ratio = compressed > bytes / ratio ? bytes : compressed * ratio;
  return std::min(bytes, std::max(ratio_free, by_ratio));
}

bool is_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

Gunzipped gunzip(std::span<const std::byte> bytes, const InflateLimits& limits, ClaimedVoxels claimed) {
  const LoadScope stage(LoadStage::decompress);
  if (bytes.size() < shortest_member) fail(Exit::data, "the gzip data is cut short");
  uint64_t largest = limits.largest(bytes.size());
  Gunzipped result;
  result.bytes =
      Bytes(std::clamp<uint64_t>(claimed_length(bytes), std::min<uint64_t>(4096, largest), largest));
  std::size_t used = 0, written = 0;
  while (true) {
    const Unpacked members =
        unpack_apart(Packing::gzip, bytes.subspan(used), result.bytes.view().subspan(written));
    used += members.taken;
    written += members.given;
    if (members.end == Unpacked::End::whole) break;
    if (members.end == Unpacked::End::damaged)
      fail(Exit::data, text("the gzip data is damaged or cut short, after ", written, " good bytes"),
           "fetch the file again");
    if (result.bytes.size() == largest && claimed) {
      // libdeflate promises nothing about a buffer that it has filled; in fact all but its last block is
      // there.
      largest = raised(largest, limits, std::exchange(claimed, {})(result.bytes.view()));
    }
    if (result.bytes.size() == largest)
      fail(Exit::data, text("the gzip data unpacks to more than ", human_bytes(largest), " (", bytes.size(),
                            " bytes packed): not an image, or larger than this program reads"));
    result.bytes.grow(std::min<uint64_t>(largest, 2 * result.bytes.size()));
  }
  const auto behind = bytes.subspan(used);
  result.ignored = all_zero(behind) ? 0 : behind.size();
  result.bytes.shorten(written);
  return result;
}

Bytes gunzip_beginning(std::span<const std::byte> bytes, std::size_t size) {
  const auto start = find_deflate(bytes);
  return start ? inflate_beginning(bytes.subspan(*start), size) : Bytes();
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
  const LoadScope stage(LoadStage::decompress);
  Bytes plain(size);
  const Unpacked unpacked = unpack_apart(Packing::deflate, bytes, plain.view());
  if (unpacked.end != Unpacked::End::whole || unpacked.given != size)
    fail(Exit::data, text("the packed data does not give the ", size, " bytes it claims"));
  return plain;
}

Bytes inflate(std::span<const std::byte> bytes, const InflateLimits& limits, std::size_t before) {
  const LoadScope stage(LoadStage::decompress);
  const uint64_t largest = limits.largest(bytes.size());
  Bytes plain(before + std::min<uint64_t>(largest, 4096 + 4 * uint64_t{bytes.size()}));
  while (true) {
    const std::size_t room = plain.size() - before;
    const Unpacked unpacked = unpack_apart(Packing::deflate, bytes, plain.view().subspan(before));
    if (unpacked.end == Unpacked::End::whole) {
      plain.shorten(before + unpacked.given);
      return plain;
    }
    if (unpacked.end == Unpacked::End::damaged)
      fail(Exit::data, "the deflated data is damaged or cut short", "fetch the file again");
    if (room == largest)
      fail(Exit::data, text("the deflated data unpacks to more than ", human_bytes(largest)));
    plain.grow(before + std::min<uint64_t>(largest, 2 * uint64_t{room}));
  }
}

Bytes unpack_zlib(std::span<const std::byte> bytes, std::size_t size) {
  constexpr std::size_t head = 2, check_sum = 4, largest_ratio = 1032;
  constexpr unsigned method = 0x0f, deflate = 8, has_dictionary = 0x20;
  const auto byte_at = [&](std::size_t at) { return std::to_integer<uint32_t>(bytes[at]); };
  const bool has_room = bytes.size() > head + check_sum;
  if (!has_room || (byte_at(0) & method) != deflate || (byte_at(0) << 8 | byte_at(1)) % 31 != 0 ||
      (byte_at(1) & has_dictionary) != 0)
    fail(Exit::data, "its packed voxels do not begin like zlib data", "fetch the file again");
  if (size / largest_ratio > bytes.size())
    fail(Exit::data,
         text("is cut short: ", bytes.size(), " packed bytes cannot give the ", size, " that it claims"));
  Bytes plain = inflate(bytes.subspan(head, bytes.size() - head - check_sum), size);
  uint32_t sum = 0;
  for (std::size_t at = bytes.size() - check_sum; at < bytes.size(); ++at) sum = sum << 8 | byte_at(at);
  if (libdeflate_adler32(1, plain.data(), plain.size()) != sum)
    fail(Exit::data, "the packed data is damaged: its check sum is another", "fetch the file again");
  return plain;
}

Bytes inflate_beginning(std::span<const std::byte> bytes, std::size_t size) {
  Bytes beginning(size);
  // A buffer that is full is all that was wanted.
  const Unpacked unpacked = unpack_apart(Packing::deflate_beginning, bytes, beginning.view());
  if (unpacked.end != Unpacked::End::full) beginning.shorten(unpacked.given);
  return beginning;
}

uint32_t crc32(std::span<const std::byte> bytes) { return libdeflate_crc32(0, bytes.data(), bytes.size()); }

}  // namespace larmor
