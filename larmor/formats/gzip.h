// gzip and deflate with a bound on what may come out, because a short file can claim any length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "larmor/formats/bytes.h"

namespace larmor {

/// How much compressed bytes may become while nothing is known of what they hold. A mask of zeros shrinks a
/// thousandfold, so the ratio counts only beyond a size that no machine minds.
struct InflateLimits {
  uint64_t bytes = (uint64_t{2} << 30) + (uint64_t{1} << 20);  // 2 GiB of voxels and room for headers
  uint64_t ratio = 64;
  uint64_t ratio_free = uint64_t{256} << 20;

  uint64_t largest(uint64_t compressed) const;
};

/// Bytes of the voxels that the header in the beginning of an unpacked file claims; 0 when there is none. So
/// much may come on top of the limits.
using ClaimedVoxels = std::function<uint64_t(std::span<const std::byte> beginning)>;

struct Gunzipped {
  Bytes bytes;
  uint64_t ignored = 0;  // bytes behind the last member that are neither gzip nor zero padding
};

bool is_gzip(std::span<const std::byte> bytes);
/// All members, one after the other. The length in the trailer is a hint and nothing more. Throws Error
/// (data): damaged, cut short, or larger than the limits.
Gunzipped gunzip(std::span<const std::byte> bytes, const InflateLimits& limits = {},
                 ClaimedVoxels claimed = {});
/// The first bytes, `size` at most, of what the first member holds. The last 64 KiB of them are not sure:
/// zeros stand for what is not unpacked. Of the packed bytes half as many more are enough. Nothing when they
/// are damaged.
Bytes gunzip_beginning(std::span<const std::byte> bytes, std::size_t size);
/// One member without name or time: equal bytes in, equal bytes out.
Bytes gzip(std::span<const std::byte> bytes, int level = 6);

/// Raw deflate data that must give exactly `size` bytes. Requires: size checked against the limits.
Bytes inflate(std::span<const std::byte> bytes, std::size_t size);
/// Raw deflate data of unknown length; what lies behind them is ignored. They stand behind `before` bytes
/// that are left to the caller. Throws Error (data) as gunzip does.
Bytes inflate(std::span<const std::byte> bytes, const InflateLimits& limits, std::size_t before = 0);
/// zlib data (RFC 1950), to their last byte, that must give exactly `size` bytes. Throws Error (data):
/// damaged, cut short, another size or another check sum.
Bytes unpack_zlib(std::span<const std::byte> bytes, std::size_t size);
/// As gunzip_beginning(), of raw deflate data.
Bytes inflate_beginning(std::span<const std::byte> bytes, std::size_t size);
uint32_t crc32(std::span<const std::byte> bytes);

}  // namespace larmor
