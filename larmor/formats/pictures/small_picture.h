// Pictures as small as networks take them, bit for bit as Pillow makes them, which is how most radiographs
// that networks have learnt from were read.
#pragma once

#include <cstdint>
#include <filesystem>

#include <ATen/core/Tensor.h>

namespace larmor {

/// How many bits of a sample a picture uses, by its brightest one: the least of 8, 10, 12, 14 and 16 that
/// hold it. Films of 10 to 14 bits lie in words of 16, and PNG seldom says so.
int bits_in_use(uint16_t brightest);

struct SmallPicture {
  at::Tensor pixels;              // [1 or 3, rows, columns] uint8: one channel where no pixel has a colour
  int64_t columns = 0, rows = 0;  // in the file
};

/// PNG or JPEG, as Image.open(path).convert("RGB").resize((columns, rows), BILINEAR): the filter is widened
/// where it shrinks, the aspect is not kept, rows are averaged first and rounded, then columns. Of 16 bits
/// the upper eight of those in use are taken, alpha is left out. Throws Error (data) with the path.
SmallPicture read_small_picture(const std::filesystem::path& path, int64_t columns, int64_t rows);

/// uint8 [C, H, W] to [C, rows, columns]. Source: Pillow's Resample.c, its arithmetic of 22 bits.
at::Tensor resized_as_pillow(const at::Tensor& planes, int64_t columns, int64_t rows);

}  // namespace larmor
