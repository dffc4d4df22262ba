// Where the fields of a NIfTI header lie, for version 1 and 2 alike: offsets, types and byte order in one
// place, for the reader and the writer.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

#include "larmor/base/ensure.h"

namespace larmor {

/// Byte offsets of one version's fields. Source: nifti1.h, nifti2.h.
struct NiftiLayout {
  std::size_t header, magic, datatype, bitpix, dim, pixdim, voxel_offset, slope, intercept, calibration_max,
      calibration_min, description, description_length, units, qform_code, sform_code, quaternion,
      quaternion_offset, sform, intent_name, auxiliary_file;
  bool wide;  // 64-bit sizes and floating point, 32-bit codes
};

constexpr NiftiLayout nifti1_layout{348, 344, 70,  72,  40,  76,  108, 112, 116, 124, 128,
                                    148, 80,  123, 252, 254, 256, 268, 280, 328, 228, false};
constexpr NiftiLayout nifti2_layout{540, 4,  12,  14,  16,  104, 168, 176, 184, 192, 200,
                                    240, 80, 500, 344, 348, 352, 376, 400, 508, 320, true};

/// A header's bytes with one byte order. Borrows them. Byte: std::byte to write, const std::byte to read.
template <class Byte>
class NiftiFields {
 public:
  NiftiFields(std::span<Byte> bytes, bool big_endian)
      : bytes_(bytes), swap_(big_endian != (std::endian::native == std::endian::big)) {}

  template <class Value>
  Value get(std::size_t offset) const {
    ensure(offset + sizeof(Value) <= bytes_.size());
    std::byte part[sizeof(Value)];
    std::memcpy(part, bytes_.data() + offset, sizeof(Value));
    if (swap_) reverse(part, sizeof(Value));
    Value value;
    std::memcpy(&value, part, sizeof(Value));
    return value;
  }

  template <class Value>
    requires(!std::is_const_v<Byte>)
  void set(std::size_t offset, Value value) {
    ensure(offset + sizeof(Value) <= bytes_.size());
    std::byte part[sizeof(Value)];
    std::memcpy(part, &value, sizeof(Value));
    if (swap_) reverse(part, sizeof(Value));
    std::memcpy(bytes_.data() + offset, part, sizeof(Value));
  }

  /// Fields that are wider in version 2.
  double real(const NiftiLayout& layout, std::size_t offset, int index = 0) const {
    const auto i = static_cast<std::size_t>(index);
    return layout.wide ? get<double>(offset + 8 * i) : static_cast<double>(get<float>(offset + 4 * i));
  }
  int64_t size(const NiftiLayout& layout, int index) const {
    const auto i = static_cast<std::size_t>(index);
    return layout.wide ? get<int64_t>(layout.dim + 8 * i) : get<int16_t>(layout.dim + 2 * i);
  }
  int code(const NiftiLayout& layout, std::size_t offset) const {
    return layout.wide ? get<int32_t>(offset) : get<int16_t>(offset);
  }

 private:
  static void reverse(std::byte* part, std::size_t size) {
    for (std::size_t i = 0; i < size / 2; ++i) std::swap(part[i], part[size - 1 - i]);
  }

  std::span<Byte> bytes_;
  bool swap_;
};

/// One row of the standard's table of types.
struct NiftiType {
  int code;
  int bits;
  const char* name;
  int voxel_type;  // of VoxelType, or -1 when voxels of this type are not read
};
const NiftiType* find_nifti_type(int code);

}  // namespace larmor
