// Pictures (PNG, JPEG) as the arrays that every reader ends with.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>

#include "larmor/codec/unpacking.h"
#include "larmor/formats/bytes.h"
#include "larmor/formats/pictures/picture_reading.h"
#include "larmor/formats/stored_array.h"

namespace larmor {

/// Pixels as decoders give them: row by row, the samples of a pixel side by side, in the machine's byte
/// order.
struct Pixels {
  int64_t columns = 0, rows = 0;
  int64_t samples = 1;   // a pixel has
  int64_t channels = 1;  // the first so many samples are kept: alpha is not
  VoxelType type = VoxelType::uint8;
  Bytes bytes;
};

/// Unpacked in a process apart. Throws Error (data); the path is the caller's to add.
Pixels unpacked_pixels(Packing packing, std::span<const std::byte> bytes);

/// One sample a pixel instead of three colours: Pillow's "L", which is ITU-R 601-2. Anything else stays.
Pixels to_grey(Pixels pixels);

/// [columns, rows], or [columns, rows, 1, channels] as a NIfTI file would have it; the first axis fastest.
/// Requires: bytes of that size.
StoredArray to_array(Pixels pixels);

/// PNG or JPEG. Throws Error (data); the path is the caller's to add.
Pixels decode_picture(std::span<const std::byte> bytes);

/// Told by the first bytes.
bool looks_like_picture(std::span<const std::byte> bytes);
struct OpenedPicture {
  StoredArray array;              // float32 where it was averaged
  std::array<int64_t, 2> size{};  // columns and rows in the file
};
/// PNG or JPEG. Grey gives one channel, colour three. Throws Error (data); the path is the caller's to add.
OpenedPicture parse_picture(std::span<const std::byte> bytes, const PictureReading& reading = {});
OpenedPicture open_picture(const std::filesystem::path& path, const PictureReading& reading = {});

}  // namespace larmor
