// Pictures read for what becomes of them: in grey, and as small as they will be.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>

#include "larmor/formats/volume.h"

namespace larmor {

/// Other files than pictures are not concerned.
struct PictureReading {
  /// One channel. Pillow's "L" for PNG, the file's own brightness for JPEG, which is the same where the three
  /// colours are.
  bool grey = false;
  std::array<int64_t, 2> size{};  // columns, rows: what the pixels are averaged to; 0: they stay as they are

  bool averages() const { return size[0] > 0 && size[1] > 0; }
  bool operator==(const PictureReading&) const = default;
};

/// As read_volume(path). A picture that is averaged lies where its pixels lay: the affine says so, and the
/// values are those of Resize with mode area, but for the last bit.
Volume read_volume(const std::filesystem::path& path, const PictureReading& reading);

}  // namespace larmor
