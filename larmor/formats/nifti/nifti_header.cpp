#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/formats/nifti/nifti.h"
#include "larmor/formats/nifti/nifti_affine.h"
#include "larmor/formats/nifti/nifti_fields.h"

namespace larmor {

namespace {

using Fields = NiftiFields<const std::byte>;

/// Of a quaternion whose parts were rounded on the way.
constexpr double longest_excess = 1e-4;

struct Kind {
  int version = 1;
  bool big_endian = false;
  bool pair = false;
};

bool has_text(std::span<const std::byte> bytes, std::size_t offset, std::string_view word) {
  return offset + word.size() <= bytes.size() &&
         std::memcmp(bytes.data() + offset, word.data(), word.size()) == 0;
}

/// One letter away from the magic of NIfTI-1: no Analyze file has that by chance, whose numbers lie there.
bool has_damaged_magic(std::span<const std::byte> bytes) {
  for (const std::string_view magic : {std::string_view("n+1\0", 4), std::string_view("ni1\0", 4)}) {
    int equal = 0;
    for (std::size_t i = 0; i < magic.size(); ++i)
      equal += has_text(bytes, nifti1_layout.magic + i, magic.substr(i, 1)) ? 1 : 0;
    if (equal == 3) return true;
  }
  return false;
}

std::optional<Kind> recognise(std::span<const std::byte> bytes) {
  if (bytes.size() < nifti1_layout.header) return std::nullopt;
  for (const bool big_endian : {false, true}) {
    const auto size = Fields(bytes, big_endian).get<int32_t>(0);
    if (size == 348) {
      if (has_text(bytes, nifti1_layout.magic, std::string_view("n+1\0", 4)))
        return Kind{1, big_endian, false};
      if (has_text(bytes, nifti1_layout.magic, std::string_view("ni1\0", 4)))
        return Kind{1, big_endian, true};
      return Kind{0, big_endian, true};
    }
    if (size == 540) {
      // The magic goes on with bytes that text-mode copying would change: a second check for free.
      if (has_text(bytes, nifti2_layout.magic, std::string_view("n+2\0\r\n\x1a\n", 8)))
        return Kind{2, big_endian, false};
      if (has_text(bytes, nifti2_layout.magic, std::string_view("ni2\0\r\n\x1a\n", 8)))
        return Kind{2, big_endian, true};
    }
  }
  return std::nullopt;
}

/// Fills one header from its fields. The first fault found is kept; reading goes on, so that a report can
/// show the rest.
class Scan {
 public:
  Scan(std::span<const std::byte> bytes, const Kind& kind)
      : bytes_(bytes),
        fields_(bytes, kind.big_endian),
        layout_(kind.version == 2 ? nifti2_layout : nifti1_layout) {
    header_.version = kind.version;
    header_.big_endian = kind.big_endian;
    header_.pair = kind.pair;
    header_.raw.resize(layout_.header);
    std::memcpy(header_.raw.data(), bytes.data(), layout_.header);
  }

  NiftiHeader run() {
    read_shape();
    read_type();
    read_scaling();
    read_voxel_offset();
    check_extensions();
    read_spacing();
    read_affine();
    return std::move(header_);
  }

 private:
  void fault(std::string reason) {
    if (header_.fault.empty()) header_.fault = std::move(reason);
  }
  void problem(std::string sentence) { header_.problems.push_back(std::move(sentence)); }
  double real(std::size_t offset, int index = 0) const { return fields_.real(layout_, offset, index); }

  void read_shape() {
    const int64_t rank = fields_.size(layout_, 0);
    if (rank < 1 || rank > 7)
      fail(Exit::data, text("says it has ", rank, " dimensions (dim[0]); 1 to 7 are possible"));
    for (int axis = 1; axis <= rank; ++axis) header_.shape.push_back(fields_.size(layout_, axis));
  }

  void read_type() {
    header_.datatype = fields_.get<int16_t>(layout_.datatype);
    header_.bits_per_voxel = fields_.get<int16_t>(layout_.bitpix);
    const NiftiType* type = find_nifti_type(header_.datatype);
    if (type == nullptr) return fault(text("has the unknown data type ", header_.datatype));
    if (type->voxel_type < 0)
      return fault(text("holds ", type->name, " voxels, which are not single numbers that are read"));
    if (type->bits != header_.bits_per_voxel) {
      return fault(text("says ", header_.bits_per_voxel, " bits a voxel (bitpix), but ", type->name, " has ",
                        type->bits));
    }
    try {
      checked_bytes(header_.shape, static_cast<std::size_t>(type->bits / 8));
    } catch (const Error& error) {
      fault(error.message());
    }
  }

  void read_scaling() {
    double slope = real(layout_.slope), intercept = real(layout_.intercept);
    if (header_.version == 0) {
      // SPM2's use of Analyze: a slope in an unused field, else the ratio of the two recorded ranges.
      if (!std::isfinite(intercept)) intercept = 0;
      const double lowest = fields_.get<int32_t>(144), stored = fields_.get<int32_t>(140) - lowest;
      const double calibrated = real(layout_.calibration_max) - real(layout_.calibration_min);
      if ((slope == 0 || !std::isfinite(slope)) && stored != 0 && calibrated != 0 &&
          std::isfinite(calibrated)) {
        slope = calibrated / stored;
        intercept = real(layout_.calibration_min) - slope * lowest;
      }
    }
    if (slope == 0 || !std::isfinite(slope)) return;
    if (!std::isfinite(intercept)) return fault(text("has the intercept ", intercept, " (scl_inter)"));
    header_.slope = slope;
    header_.intercept = intercept;
  }

  void read_voxel_offset() {
    // Compared as what it is stored as, before it becomes an integer.
    const double offset = layout_.wide ? static_cast<double>(fields_.get<int64_t>(layout_.voxel_offset))
                                       : real(layout_.voxel_offset);
    const double least = header_.pair ? 0 : static_cast<double>(layout_.header) + 4;
    if (!std::isfinite(offset) || offset != std::floor(offset) || offset < least || offset > 0x1p52) {
      return fault(text("says its voxels start at byte ", offset, " (vox_offset), which cannot be"));
    }
    header_.voxel_offset = static_cast<uint64_t>(offset);
  }

  /// Extensions are not used; a header whose extensions run into its voxels lies about one of the two.
  void check_extensions() {
    const std::size_t start = layout_.header;
    if (header_.version == 0 || bytes_.size() < start + 4 || bytes_[start] == std::byte{0}) return;
    const uint64_t end =
        header_.pair ? bytes_.size() : std::min<uint64_t>(bytes_.size(), header_.voxel_offset);
    uint64_t place = start + 4;
    while (place + 8 <= end) {
      const auto size = fields_.get<int32_t>(place);
      if (size < 16 || size % 16 != 0 || place + static_cast<uint64_t>(size) > end) {
        return fault(text("has a header extension at byte ", place, " that claims ", size, " bytes"));
      }
      place += static_cast<uint64_t>(size);
    }
  }

  void read_spacing() {
    const std::size_t axes = std::min<std::size_t>(header_.shape.size(), 3);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      double& spacing = header_.pixdim[axis];
      spacing = real(layout_.pixdim, static_cast<int>(axis) + 1);
      const bool used = axis < axes;
      if (used && !std::isfinite(spacing)) {
        fault(text("has the spacing ", spacing, " along axis ", axis + 1, " (pixdim)"));
      } else if (used && spacing == 0) {
        problem(text("the spacing along axis ", axis + 1, " is 0; 1 mm is taken"));
      } else if (used && spacing < 0) {
        problem(text("the spacing along axis ", axis + 1, " is ", spacing, "; its absolute value is taken"));
      }
      spacing = std::isfinite(spacing) && spacing != 0 ? std::abs(spacing) : 1;
    }
  }

  /// Of the qform, which counts where there is no sform.
  void doubt(const std::string& sentence) {
    if (header_.sform_code > 0) return problem(sentence + "; the sform is taken");
    fault("has no place: " + sentence);
  }
  void read_affine();
  Affine read_sform() const;
  NiftiQform read_qform();
  void compare_forms(const Affine& sform, const Affine& qform);
  Affine analyze_affine() const;

  std::span<const std::byte> bytes_;
  Fields fields_;
  const NiftiLayout& layout_;
  NiftiHeader header_;
};

Affine Scan::read_sform() const {
  Affine affine = identity_affine();
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 4; ++column) affine[row][column] = real(layout_.sform, 4 * row + column);
  }
  return affine;
}

NiftiQform Scan::read_qform() {
  NiftiQform qform;
  for (int i = 0; i < 3; ++i) {
    qform.quaternion[i] = real(layout_.quaternion, i);
    qform.offset[i] = real(layout_.quaternion_offset, i);
  }
  qform.handedness = real(layout_.pixdim, 0);
  if (qform.handedness != 1 && qform.handedness != -1) {
    // Zero is what files older than the field have, and the standard says it means 1.
    if (qform.handedness != 0) doubt(text("the handedness of the qform (pixdim[0]) is ", qform.handedness));
    qform.handedness = 1;
  }
  return qform;
}

/// The centre of voxels lies at the origin unless SPM's field for it says otherwise.
Affine Scan::analyze_affine() const {
  Affine affine = from_spacing(header_.shape, header_.pixdim);
  std::array<double, 3> origin{};
  bool any = false, sensible = true;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double size = axis < header_.shape.size() ? static_cast<double>(header_.shape[axis]) : 1;
    origin[axis] = fields_.get<int16_t>(253 + 2 * axis);
    any = any || origin[axis] != 0;
    sensible = sensible && origin[axis] > -size && origin[axis] < 2 * size;
  }
  if (!any || !sensible) return affine;
  for (std::size_t axis = 0; axis < 3; ++axis) affine[axis][3] = -(origin[axis] - 1) * affine[axis][axis];
  return affine;
}

void Scan::compare_forms(const Affine& sform, const Affine& qform) {
  double farthest = 0;
  for (int corner = 0; corner < 8; ++corner) {
    std::array<double, 3> index{};
    for (std::size_t axis = 0; axis < std::min<std::size_t>(header_.shape.size(), 3); ++axis) {
      if (corner >> axis & 1) index[axis] = static_cast<double>(header_.shape[axis]) - 1;
    }
    const auto one = position(sform, index), other = position(qform, index);
    farthest = std::max(farthest, std::hypot(one[0] - other[0], one[1] - other[1], one[2] - other[2]));
  }
  const double smallest = *std::min_element(header_.pixdim.begin(), header_.pixdim.end());
  if (farthest > 0.1 * smallest) {
    problem(text("sform and qform disagree by up to ", fixed(farthest, 2), " mm (codes ", header_.sform_code,
                 " and ", header_.qform_code, "); the sform is taken"));
  }
}

void Scan::read_affine() {
  if (header_.version == 0) {
    header_.affine = analyze_affine();
    return;
  }
  header_.qform_code = fields_.code(layout_, layout_.qform_code);
  header_.sform_code = fields_.code(layout_, layout_.sform_code);
  for (int* const code : {&header_.qform_code, &header_.sform_code}) {
    if (*code >= 0 && *code <= 5) continue;
    fault(text("has the ", code == &header_.sform_code ? "sform" : "qform", " code ", *code,
               ", which means nothing; 0 to 5 do"));
    *code = 0;
  }
  Affine qform_affine = identity_affine();
  if (header_.qform_code > 0) {
    const NiftiQform qform = read_qform();
    qform_affine = from_qform(qform, header_.pixdim);
    const double excess = quaternion_excess(qform);
    if (excess > longest_excess)
      doubt(text("the quaternion of the qform is longer than 1: the sum of its squares is ", 1 + excess));
    else if (excess > 0)
      problem("the quaternion of the qform is longer than 1; it is shortened");
  }
  if (header_.sform_code > 0) {
    header_.affine = read_sform();
    if (header_.qform_code > 0 && is_finite(qform_affine)) compare_forms(header_.affine, qform_affine);
  } else if (header_.qform_code > 0) {
    header_.affine = qform_affine;
  } else {
    header_.affine = from_spacing(header_.shape, header_.pixdim);
  }
  if (!is_finite(header_.affine)) return fault("has an affine with numbers that are not finite");
  if (!inverse(header_.affine))
    return problem("the affine is singular: voxels have no thickness along some direction");
  const auto spacing = spacing_of(header_.affine);
  for (std::size_t axis = 0; axis < std::min<std::size_t>(header_.shape.size(), 3); ++axis) {
    if (std::abs(spacing[axis] - header_.pixdim[axis]) > 1e-2 * header_.pixdim[axis]) {
      problem(text("the affine says ", fixed(spacing[axis], 4), " mm along axis ", axis + 1, ", pixdim ",
                   fixed(header_.pixdim[axis], 4), " mm; the affine is taken"));
    }
  }
}

}  // namespace

bool looks_like_nifti(std::span<const std::byte> bytes) { return recognise(bytes).has_value(); }

NiftiHeader scan_nifti_header(std::span<const std::byte> bytes) {
  if (bytes.size() < nifti1_layout.header) {
    fail(Exit::data, text("is ", bytes.size(), " bytes long, too short for a NIfTI header"));
  }
  const auto kind = recognise(bytes);
  if (kind && kind->version == 0 && has_damaged_magic(bytes))
    fail(Exit::data, "does not say of which version of NIfTI it is: its magic is damaged",
         "fetch the file again");
  if (!kind) {
    fail(Exit::data, "does not begin like a NIfTI or Analyze header",
         "files that are read: NIfTI (.nii, .nii.gz, .hdr with .img), NRRD, MetaImage (.mha, .mhd), DICOM, "
         ".npy, .npz, "
         "PNG and JPEG");
  }
  if (kind->version == 2 && bytes.size() < nifti2_layout.header) {
    fail(Exit::data, text("is ", bytes.size(), " bytes long, too short for a NIfTI-2 header"));
  }
  return Scan(bytes, *kind).run();
}

NiftiHeader parse_nifti_header(std::span<const std::byte> bytes, const std::string& name) {
  try {
    NiftiHeader header = scan_nifti_header(bytes);
    if (!header.fault.empty()) fail(Exit::data, header.fault);
    return header;
  } catch (const Error& error) {
    throw error.within(name);
  }
}

}  // namespace larmor
