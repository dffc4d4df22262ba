#include <algorithm>
#include <cctype>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/formats/gzip.h"
#include "larmor/formats/nifti/nifti.h"
#include "larmor/formats/nifti/nifti_fields.h"

namespace larmor {

namespace {

/// Voxels, headers and extensions together.
constexpr uint64_t largest_file = InflateLimits{}.bytes;

struct Plain {
  Bytes bytes;
  uint64_t ignored = 0;
};

Plain read_plain(const std::filesystem::path& path, const ClaimedVoxels& claimed) {
  Bytes bytes = read_file(path, largest_file);
  if (!is_gzip(bytes.view())) return {std::move(bytes), 0};
  Gunzipped unpacked = gunzip(bytes.view(), {}, claimed);
  return {std::move(unpacked.bytes), unpacked.ignored};
}

/// The other file of a pair: the name with `to` for `from` (".hdr", ".img"), packed alike if such a file is
/// there, else the other way. Empty when the name does not end in `from`. Never taken from inside a header.
std::filesystem::path sibling(const std::filesystem::path& path, const std::string& from,
                              const std::string& to) {
  std::string name = path.filename().string();
  std::string packed;
  if (lower(name).ends_with(".gz")) {
    packed = name.substr(name.size() - 3);
    name.resize(name.size() - 3);
  }
  if (!lower(name).ends_with(from)) return {};
  std::string ending = to;
  if (!name.ends_with(from))
    std::transform(to.begin(), to.end(), ending.begin(), [](unsigned char c) { return std::toupper(c); });
  name.replace(name.size() - from.size(), from.size(), ending);
  std::error_code error;
  const auto alike = path.parent_path() / (name + packed);
  if (std::filesystem::exists(alike, error)) return alike;
  const auto other = path.parent_path() / (packed.empty() ? name + ".gz" : name);
  return std::filesystem::exists(other, error) ? other : alike;
}

std::size_t voxel_bytes(const NiftiHeader& header) {
  const NiftiType* type = find_nifti_type(header.datatype);
  return checked_bytes(header.shape, bytes_of(static_cast<VoxelType>(type->voxel_type)));
}

/// Gives the voxels to the array when they are all there, otherwise says what is missing.
void attach_voxels(OpenedNifti& opened, Bytes file) {
  NiftiHeader& header = opened.header;
  StoredArray& array = opened.array;
  const NiftiType* type = find_nifti_type(header.datatype);
  array.shape = header.shape;
  array.format = {static_cast<VoxelType>(type->voxel_type), header.big_endian, header.slope,
                  header.intercept};
  const std::size_t bytes = voxel_bytes(header);
  header.fault = attach_bytes(array, std::move(file), header.voxel_offset, bytes, header.problems);
}

void attach_pair(OpenedNifti& opened, const std::filesystem::path& path) {
  const auto image = sibling(path, ".hdr", ".img");
  std::error_code error;
  if (image.empty()) {
    opened.header.fault = "is one half of a pair, but is not named .hdr, so the other cannot be found";
  } else if (!std::filesystem::exists(image, error)) {
    opened.header.fault = text("is the header of a pair; its voxels should be in ", image.filename().string(),
                               ", which is not there");
  } else {
    const uint64_t bytes = voxel_bytes(opened.header);
    attach_voxels(opened, read_plain(image, [bytes](auto) { return bytes; }).bytes);
  }
}

}  // namespace

std::optional<NiftiClaim> claim_of_nifti(std::span<const std::byte> beginning) {
  if (!looks_like_nifti(beginning)) return std::nullopt;
  try {
    const NiftiHeader header = scan_nifti_header(beginning);
    if (header.pair || !header.fault.empty()) return std::nullopt;
    return NiftiClaim{header.voxel_offset, voxel_bytes(header)};
  } catch (const Error&) {
    return std::nullopt;
  }
}

OpenedNifti open_nifti(const std::filesystem::path& given) {
  std::filesystem::path path = given;
  const auto header_beside = sibling(given, ".img", ".hdr");
  std::error_code error;
  if (!header_beside.empty() && std::filesystem::exists(header_beside, error)) path = header_beside;
  Plain plain = read_plain(path, [](std::span<const std::byte> beginning) {
    const auto claim = claim_of_nifti(beginning);
    return claim ? claim->voxels : 0;
  });
  OpenedNifti opened{scan_nifti_header(plain.bytes.view()), {}};
  if (plain.ignored > 0) {
    opened.header.problems.push_back(text(plain.ignored, " bytes behind the gzip data are ignored"));
  }
  if (!opened.header.fault.empty()) return opened;
  if (opened.header.pair) {
    attach_pair(opened, path);
  } else {
    attach_voxels(opened, std::move(plain.bytes));
  }
  return opened;
}

NiftiFile read_nifti(const std::filesystem::path& path) {
  return naming(path, [&] {
    OpenedNifti opened = open_nifti(path);
    if (!opened.header.fault.empty()) fail(Exit::data, opened.header.fault);
    return NiftiFile{std::move(opened.header), to_tensor(std::move(opened.array))};
  });
}

}  // namespace larmor
