// Images whose header is text: NRRD and MetaImage. What a header says of its voxels, in one form for both.
// Each value is absent, understood, or a fault of the file (docs/decisions/0088); an absent one has a default
// only where its format gives it one. Source: the NRRD format of Teem
// (teem.sourceforge.net/nrrd/format.html), MetaIO of ITK; what the two leave open is as ITK's readers have
// it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "larmor/formats/affine.h"
#include "larmor/formats/voxel_format.h"

namespace larmor {

enum class VoxelPacking { none, gzip, zlib };

struct TextHeader {
  std::vector<int64_t> shape;     // first axis fastest
  bool channel_is_first = false;  // of four axes; otherwise the fourth
  VoxelFormat format;
  VoxelPacking packing = VoxelPacking::none;
  std::string data_file;         // a name beside the header; empty: the voxels lie behind it
  std::size_t header_bytes = 0;  // where they begin then
  int64_t lines_before = 0;      // in front of the voxels, as they are packed
  int64_t bytes_before = 0;      // behind those lines, unpacked; -1: the voxels are the last bytes
  std::optional<uint64_t> packed_bytes;
  Affine affine = identity_affine();
  std::array<double, 3> spacing_mm = {1, 1, 1};
  std::vector<std::string> problems;  // warnings
};

/// No header is longer.
inline constexpr std::size_t longest_text_header = std::size_t{1} << 20;

/// Told by the first bytes.
bool looks_like_nrrd(std::span<const std::byte> beginning);
bool looks_like_metaimage(std::span<const std::byte> beginning);

/// Of a file's text, or of its beginning where the header ends within it. Throws Error (data): not
/// understood, contradictory, or of a kind that is not read.
TextHeader scan_nrrd_header(std::string_view file);
TextHeader scan_metaimage_header(std::string_view file);

}  // namespace larmor
