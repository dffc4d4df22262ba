#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/base/error.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/files/whole_file.h"
#include "larmor/base/text.h"
#include "larmor/formats/gzip.h"
#include "larmor/formats/nifti/nifti.h"
#include "larmor/formats/nifti/nifti_affine.h"
#include "larmor/formats/nifti/nifti_fields.h"
#include "larmor/formats/stored_volume.h"
#include "larmor/formats/volume.h"

namespace larmor {

namespace {

using WritableFields = NiftiFields<std::byte>;

/// How voxels are stored, by NIfTI's codes.
struct StoredType {
  int16_t code, bits;
  at::ScalarType type;
};

StoredType stored_type(const at::Tensor& voxels) {
  if (!at::isIntegralType(voxels.scalar_type(), /*includeBool=*/true)) return {16, 32, at::kFloat};
  const at::Tensor whole = voxels.to(at::kLong);
  const bool has_none_below = whole.ge(0).all().item<bool>();
  const auto fits = [&](int64_t most) { return has_none_below && whole.le(most).all().item<bool>(); };
  if (fits(std::numeric_limits<uint8_t>::max())) return {2, 8, at::kByte};
  if (fits(std::numeric_limits<uint16_t>::max())) return {512, 16, at::kUInt16};
  return {8, 32, at::kInt};
}

constexpr int aligned =
    2;  // NIFTI_XFORM_ALIGNED_ANAT: coordinates of some other image, which one is not said
constexpr int millimetres = 2;

/// Where another file says its voxels are, field by field.
struct Placement {
  Affine affine = identity_affine();  // what a reader makes of it
  std::array<double, 5> pixdim{};     // the handedness, three lengths, the step of the fourth axis
  std::array<double, 3> quaternion{}, offset{};
  std::array<double, 12> sform{};
  int qform_code = 0, sform_code = 0;
};

/// What is kept of another file's header, of any version and byte order.
struct Kept {
  int units = millimetres;
  std::string description, intent_name, auxiliary_file;
  int qform_code = aligned, sform_code = aligned;
  std::vector<int64_t> shape;          // with the axes of 1 that a reader drops
  std::optional<Placement> placement;  // empty where the file says nowhere where it is
};

Placement placement_of(const NiftiHeader& header, const NiftiLayout& layout,
                       const NiftiFields<const std::byte>& fields) {
  Placement placement{
      .affine = header.affine, .qform_code = header.qform_code, .sform_code = header.sform_code};
  const double handedness = fields.real(layout, layout.pixdim), step = fields.real(layout, layout.pixdim, 4);
  placement.pixdim = {handedness == -1 ? -1.0 : 1.0, header.pixdim[0], header.pixdim[1], header.pixdim[2],
                      std::isfinite(step) ? step : 1};
  for (int i = 0; i < 3; ++i) {
    const auto axis = static_cast<std::size_t>(i);
    placement.quaternion.at(axis) = fields.real(layout, layout.quaternion, i);
    placement.offset.at(axis) = fields.real(layout, layout.quaternion_offset, i);
  }
  for (int i = 0; i < 12; ++i)
    placement.sform.at(static_cast<std::size_t>(i)) = fields.real(layout, layout.sform, i);
  return placement;
}

Kept kept_from(const std::filesystem::path& like, HeaderText header_text) {
  Kept kept;
  if (like.empty() || !holds_nifti(like)) return kept;
  const NiftiHeader header = naming(like, [&] { return open_nifti(like).header; });
  // Analyze has other things where NIfTI has units, codes and names; only its description means the same.
  const NiftiLayout& layout = header.version == 2 ? nifti2_layout : nifti1_layout;
  const auto bytes = std::as_bytes(std::span(header.raw));
  const NiftiFields<const std::byte> fields(bytes, header.big_endian);
  const auto words = [&](std::size_t offset, std::size_t length) {
    return header_text == HeaderText::kept ? header.raw.substr(offset, length) : std::string();
  };
  kept.description = words(layout.description, layout.description_length);
  kept.shape = header.shape;
  if (header.version == 0) return kept;
  kept.units = layout.wide ? fields.get<int32_t>(layout.units) : fields.get<uint8_t>(layout.units);
  kept.intent_name = words(layout.intent_name, 16);
  kept.auxiliary_file = words(layout.auxiliary_file, 24);
  // A file that says nowhere where it is gets codes all the same: its affine is written out.
  if (header.sform_code > 0 || header.qform_code > 0) {
    kept.placement = placement_of(header, layout, fields);
    kept.sform_code = header.sform_code > 0 ? header.sform_code : header.qform_code;
    kept.qform_code = header.qform_code > 0 ? header.qform_code : header.sform_code;
  }
  return kept;
}

/// Writes the fields that differ in width between the versions.
class HeaderWriter {
 public:
  HeaderWriter(const NiftiLayout& layout, std::vector<std::byte>& bytes)
      : layout_(layout), bytes_(bytes), fields_(bytes, false) {}

  void real(std::size_t offset, double value, std::size_t index = 0) {
    if (layout_.wide) return fields_.set(offset + 8 * index, value);
    fields_.set(offset + 4 * index, static_cast<float>(value));
  }
  void code(std::size_t offset, int value) {
    if (layout_.wide) return fields_.set(offset, int32_t{value});
    fields_.set(offset, static_cast<int16_t>(value));
  }
  void size(std::size_t index, int64_t value) {
    if (layout_.wide) return fields_.set(layout_.dim + 8 * index, value);
    fields_.set(layout_.dim + 2 * index, static_cast<int16_t>(value));
  }
  void words(std::size_t offset, std::string_view value, std::size_t length) {
    std::memcpy(bytes_.data() + offset, value.data(), std::min(value.size(), length));
  }
  WritableFields& fields() { return fields_; }

 private:
  const NiftiLayout& layout_;
  std::vector<std::byte>& bytes_;
  WritableFields fields_;
};

/// Nothing is computed anew, so that nothing is rounded anew.
void write_placement(HeaderWriter& header, const NiftiLayout& layout, const Placement& placement) {
  for (std::size_t i = 0; i < placement.pixdim.size(); ++i)
    header.real(layout.pixdim, placement.pixdim.at(i), i);
  if (placement.qform_code > 0) {
    for (std::size_t i = 0; i < 3; ++i) {
      header.real(layout.quaternion, placement.quaternion.at(i), i);
      header.real(layout.quaternion_offset, placement.offset.at(i), i);
    }
  }
  if (placement.sform_code > 0) {
    for (std::size_t i = 0; i < placement.sform.size(); ++i)
      header.real(layout.sform, placement.sform.at(i), i);
  }
  header.code(layout.qform_code, placement.qform_code);
  header.code(layout.sform_code, placement.sform_code);
}

void write_affine(HeaderWriter& header, const NiftiLayout& layout, const Affine& affine, const Kept& kept) {
  if (kept.placement && kept.placement->affine == affine)
    return write_placement(header, layout, *kept.placement);
  const auto spacing = spacing_of(affine);
  const NiftiQform qform = to_qform(affine);
  header.real(layout.pixdim, qform.handedness);
  for (std::size_t i = 0; i < 3; ++i) {
    header.real(layout.pixdim, spacing[i], i + 1);
    header.real(layout.quaternion, qform.quaternion[i], i);
    header.real(layout.quaternion_offset, qform.offset[i], i);
    for (std::size_t column = 0; column < 4; ++column)
      header.real(layout.sform, affine[i][column], 4 * i + column);
  }
  header.code(layout.sform_code, kept.sform_code);
  // A quaternion cannot hold shear or a voxel without thickness; then the sform alone is true.
  const bool representable = !has_shear(affine) && inverse(affine).has_value();
  header.code(layout.qform_code, representable ? kept.qform_code : 0);
}

std::vector<std::byte> make_header(const std::vector<int64_t>& shape, const Affine& affine, const Kept& kept,
                                   const StoredType& stored) {
  const bool wide = std::any_of(shape.begin(), shape.end(), [](int64_t size) { return size > 32767; });
  const NiftiLayout& layout = wide ? nifti2_layout : nifti1_layout;
  std::vector<std::byte> bytes(layout.header + 4);  // four zeros: no extensions
  HeaderWriter header(layout, bytes);
  header.fields().set(0, static_cast<int32_t>(layout.header));
  header.words(layout.magic, wide ? std::string_view("n+2\0\r\n\x1a\n", 8) : std::string_view("n+1\0", 4), 8);
  header.size(0, static_cast<int64_t>(shape.size()));
  for (std::size_t axis = 1; axis < 8; ++axis) {
    header.size(axis, axis <= shape.size() ? shape[axis - 1] : 1);
    header.real(layout.pixdim, 1, axis);
  }
  header.fields().set(layout.datatype, stored.code);
  header.fields().set(layout.bitpix, stored.bits);
  header.real(layout.slope, 1);
  if (wide) {
    header.fields().set(layout.voxel_offset, static_cast<int64_t>(bytes.size()));
    header.fields().set(layout.units, int32_t{kept.units});
  } else {
    header.fields().set(layout.voxel_offset, static_cast<float>(bytes.size()));
    header.fields().set(layout.units, static_cast<uint8_t>(kept.units));
  }
  header.words(layout.description, kept.description, layout.description_length);
  header.words(layout.intent_name, kept.intent_name, 16);
  header.words(layout.auxiliary_file, kept.auxiliary_file, 24);
  write_affine(header, layout, affine, kept);
  return bytes;
}

/// The other file's shape where it is the same but for axes of 1, otherwise `shape`.
std::vector<int64_t> shape_like(const std::vector<int64_t>& shape, const std::vector<int64_t>& other) {
  std::vector<int64_t> needed = other;
  if (needed.size() > 3) needed.erase(std::remove(needed.begin() + 3, needed.end(), 1), needed.end());
  if (needed.size() < 3) needed.resize(3, 1);
  return needed == shape ? other : shape;
}

}  // namespace

void write_nifti(Storage& storage, const std::filesystem::path& path, const Volume& volume,
                 const std::filesystem::path& like, HeaderText header_text) {
  const std::string name = lower(path.filename().string());
  if (!name.ends_with(".nii") && !name.ends_with(".nii.gz")) {
    fail(Exit::usage, text(path.string(), ": only .nii and .nii.gz are written"), "name the output so");
  }
  const at::Tensor voxels = volume.voxels.dim() == 3 ? volume.voxels.unsqueeze(0) : volume.voxels;
  std::vector<int64_t> shape = voxels.sizes().slice(1).vec();
  if (voxels.size(0) > 1) shape.push_back(voxels.size(0));
  const Kept kept = kept_from(like, header_text);
  const StoredType stored = stored_type(voxels);
  const std::vector<std::byte> header =
      make_header(shape_like(shape, kept.shape), volume.affine, kept, stored);
  // First axis fastest, channels slowest; no copy when the voxels lie so already.
  const at::Tensor ordered = voxels.to(at::kCPU, stored.type).permute({0, 3, 2, 1}).contiguous();
  const std::span numbers(static_cast<const std::byte*>(ordered.const_data_ptr()), ordered.nbytes());
  const auto file = open_output(storage, path);
  if (name.ends_with(".nii")) {
    file->write(header);
    file->write(numbers);
  } else {
    Bytes plain(header.size() + numbers.size());
    std::copy(header.begin(), header.end(), plain.data());
    std::copy(numbers.begin(), numbers.end(), plain.data() + header.size());
    file->write(gzip(plain.view()).view());
  }
  file->sync();
  file->close();
}

}  // namespace larmor
