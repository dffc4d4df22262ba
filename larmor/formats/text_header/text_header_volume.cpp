#include "larmor/formats/text_header/text_header_volume.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/files/regular_file.h"
#include "larmor/base/text.h"
#include "larmor/formats/gzip.h"
#include "larmor/formats/stored_volume.h"
#include "larmor/formats/text_header/text_header.h"

namespace larmor {

namespace {

namespace fs = std::filesystem;

/// Voxels and header together.
constexpr uint64_t largest_text_file = InflateLimits{}.bytes + longest_text_header;

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TextHeader scan_text_header(std::span<const std::byte> file) {
  return looks_like_nrrd(file) ? scan_nrrd_header(as_text(file)) : scan_metaimage_header(as_text(file));
}

std::size_t claimed_bytes(const TextHeader& header) {
  return checked_bytes(header.shape, bytes_of(header.format.type));
}

/// Behind the lines that stand in front of the voxels.
std::size_t behind_lines(std::span<const std::byte> file, std::size_t start, int64_t lines) {
  for (int64_t line = 0; line < lines; ++line) {
    const std::size_t end = as_text(file).find('\n', start);
    if (end == std::string_view::npos)
      fail(Exit::data, "is cut short: it ends within the lines that its header skips");
    start = end + 1;
  }
  return start;
}

/// What the header says of the voxels' place may not be believed before it is held against what is there.
std::string attach(StoredVolume& volume, const TextHeader& header, Bytes file, std::size_t start) {
  const std::size_t bytes = claimed_bytes(header);
  start = behind_lines(file.view(), start, header.lines_before);
  if (start > file.size()) return "is cut short: it ends within its header";
  const auto before = static_cast<uint64_t>(std::max<int64_t>(header.bytes_before, 0));
  auto& array = volume.array;
  if (header.packing == VoxelPacking::none) {
    const bool is_last = header.bytes_before < 0 && file.size() - start >= bytes;
    if (before > file.size() - start) return "is cut short: it has fewer bytes than its header skips";
    return attach_bytes(array, std::move(file), is_last ? file.size() - bytes : start + before, bytes,
                        volume.problems);
  }
  if (header.packing == VoxelPacking::zlib) {
    const auto packed = file.view().subspan(std::min<uint64_t>(file.size(), start + before));
    if (header.packed_bytes && *header.packed_bytes > packed.size())
      return text("is cut short: its header claims ", *header.packed_bytes,
                  " packed bytes, but there are only ", packed.size());
    return attach_bytes(array, unpack_zlib(packed.first(header.packed_bytes.value_or(packed.size())), bytes),
                        0, bytes, volume.problems);
  }
  Gunzipped unpacked = gunzip(file.view().subspan(start), {}, [&](auto) { return bytes + before; });
  if (unpacked.ignored > 0)
    volume.problems.push_back(text(unpacked.ignored, " bytes behind the gzip data are ignored"));
  return attach_bytes(array, std::move(unpacked.bytes), before, bytes, volume.problems);
}

StoredVolume open_text_header_volume(const fs::path& path) {
  Bytes file = read_file(path, largest_text_file);
  TextHeader header = scan_text_header(file.view());
  StoredVolume volume;
  volume.array.shape = header.shape;
  volume.array.format = header.format;
  volume.channel_is_first = header.channel_is_first;
  volume.affine = header.affine;
  volume.spacing_mm = header.spacing_mm;
  volume.dtype = to_text(header.format.type);
  volume.problems = std::move(header.problems);
  if (header.data_file.empty()) {
    volume.fault = attach(volume, header, std::move(file), header.header_bytes);
    return volume;
  }
  const fs::path beside = path.parent_path() / header.data_file;
  std::error_code error;
  if (!fs::exists(beside, error)) {
    volume.fault =
        text("is the header of voxels that should be in ", header.data_file, ", which is not there");
    volume.hint = "put that file beside the header, under the name that the header gives it";
    return volume;
  }
  volume.fault = attach(volume, header, read_file(beside, largest_text_file), 0);
  return volume;
}

uint64_t size_of_end(const RegularFile& file) {
  std::array<std::byte, 4> end{};
  if (file.size() < end.size() || file.read_at(file.size() - end.size(), end) != end.size()) return 0;
  uint32_t length = 0;
  std::memcpy(&length, end.data(), sizeof length);
  return length;
}

}  // namespace

StoredVolume open_nrrd_volume(const fs::path& path, const PictureReading&) {
  return open_text_header_volume(path);
}

StoredVolume open_metaimage_volume(const fs::path& path, const PictureReading&) {
  return open_text_header_volume(path);
}

bool text_header_looks_sound(const fs::path& path, std::span<const std::byte> beginning) {
  const TextHeader header = scan_text_header(beginning);
  const bool is_apart = !header.data_file.empty();
  if (!is_apart && header.header_bytes >= beginning.size()) return false;
  if (header.lines_before > 0) return false;
  const RegularFile file = open_regular(is_apart ? path.parent_path() / header.data_file : path);
  const uint64_t start = is_apart ? 0 : header.header_bytes;
  const auto before = static_cast<uint64_t>(std::max<int64_t>(header.bytes_before, 0));
  const uint64_t there = file.size() - std::min(file.size(), start + before), claimed = claimed_bytes(header);
  switch (header.packing) {
    case VoxelPacking::none:
      return there == claimed || (header.bytes_before < 0 && there > claimed);
    case VoxelPacking::zlib:
      return header.packed_bytes == there;
    case VoxelPacking::gzip:
      return there > 0 && size_of_end(file) == static_cast<uint32_t>(claimed + before);
  }
  return false;
}

std::optional<fs::path> voxels_beside(const fs::path& path) {
  constexpr std::size_t usual = 8 << 10;
  for (const std::size_t most : {usual, longest_text_header}) {
    try {
      const RegularFile file = open_regular(path);
      Bytes start(std::min<uint64_t>(file.size(), most));
      start.shorten(file.read_at(0, start.view()));
      if (!looks_like_nrrd(start.view()) && !looks_like_metaimage(start.view())) return std::nullopt;
      const TextHeader header = scan_text_header(start.view());
      if (!header.data_file.empty()) return path.parent_path() / header.data_file;
      if (header.header_bytes < start.size()) return std::nullopt;
    } catch (const Error&) {  // a header that was cut off here, or is none
    }
  }
  return std::nullopt;
}

}  // namespace larmor
