#include "larmor/codec/unpacking.h"

#include <cstring>
#include <memory>
#include <new>

#include <libdeflate.h>

#include "larmor/codec/jpeg_picture.h"
#include "larmor/codec/png_picture.h"

namespace larmor {

namespace {

using End = Unpacked::End;

struct FreeDecompressor {
  void operator()(libdeflate_decompressor* pointer) const { libdeflate_free_decompressor(pointer); }
};
using Decompressor = std::unique_ptr<libdeflate_decompressor, FreeDecompressor>;

Decompressor make_decompressor() {
  Decompressor decompressor(libdeflate_alloc_decompressor());
  if (!decompressor) throw std::bad_alloc();
  return decompressor;
}

End end_of(libdeflate_result outcome) {
  if (outcome == LIBDEFLATE_SUCCESS) return End::whole;
  return outcome == LIBDEFLATE_INSUFFICIENT_SPACE ? End::full : End::damaged;
}

bool begins_member(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

Unpacked unpack_members(std::span<const std::byte> packed, std::span<std::byte> out) {
  const Decompressor decompressor = make_decompressor();
  Unpacked all;
  while (all.taken < packed.size()) {
    const auto rest = packed.subspan(all.taken);
    if (all.taken > 0 && !begins_member(rest)) break;
    const auto room = out.subspan(all.given);
    std::size_t taken = 0, given = 0;
    all.end = end_of(libdeflate_gzip_decompress_ex(decompressor.get(), rest.data(), rest.size(), room.data(),
                                                   room.size(), &taken, &given));
    if (all.end != End::whole) break;
    all.taken += taken;
    all.given += given;
  }
  return all;
}

Unpacked unpack_deflated(std::span<const std::byte> packed, std::span<std::byte> out) {
  const Decompressor decompressor = make_decompressor();
  Unpacked all;
  std::size_t given = 0;
  all.end = end_of(libdeflate_deflate_decompress(decompressor.get(), packed.data(), packed.size(), out.data(),
                                                 out.size(), &given));
  if (all.end == End::whole) all.given = given;
  return all;
}

}  // namespace

Unpacked unpack_here(Packing packing, std::span<const std::byte> packed, std::span<std::byte> out) {
  switch (packing) {
    case Packing::gzip:
      return unpack_members(packed, out);
    case Packing::deflate_beginning:
      // libdeflate writes no block that is stored plainly and does not fit, and promises nothing at all of
      // what it has filled; what it has not written must not be what lay in memory.
      if (!out.empty()) std::memset(out.data(), 0, out.size());
      [[fallthrough]];
    case Packing::deflate:
      return unpack_deflated(packed, out);
    case Packing::png:
      return unpack_png(packed, out);
    case Packing::jpeg:
    case Packing::jpeg_in_grey:
      break;
  }
  return unpack_jpeg(packed, packing == Packing::jpeg_in_grey, out);
}

std::size_t claimed_bytes(Packing packing, std::span<const std::byte> packed) {
  return packing == Packing::png ? claimed_png_bytes(packed) : 0;
}

}  // namespace larmor
