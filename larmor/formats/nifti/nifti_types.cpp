#include <algorithm>
#include <array>
#include <string>

#include "larmor/formats/nifti/nifti.h"
#include "larmor/formats/nifti/nifti_fields.h"

namespace larmor {

namespace {

constexpr int of(VoxelType type) { return static_cast<int>(type); }

constexpr std::array<NiftiType, 16> types{{
    {1, 1, "bit", -1},
    {2, 8, "uint8", of(VoxelType::uint8)},
    {4, 16, "int16", of(VoxelType::int16)},
    {8, 32, "int32", of(VoxelType::int32)},
    {16, 32, "float32", of(VoxelType::float32)},
    {32, 64, "complex64", -1},
    {64, 64, "float64", of(VoxelType::float64)},
    {128, 24, "rgb24", -1},
    {256, 8, "int8", of(VoxelType::int8)},
    {512, 16, "uint16", of(VoxelType::uint16)},
    {768, 32, "uint32", of(VoxelType::uint32)},
    {1024, 64, "int64", of(VoxelType::int64)},
    {1280, 64, "uint64", of(VoxelType::uint64)},
    {1536, 128, "float128", -1},
    {1792, 128, "complex128", -1},
    {2304, 32, "rgba32", -1},
}};

}  // namespace

const NiftiType* find_nifti_type(int code) {
  const auto found =
      std::find_if(types.begin(), types.end(), [code](const NiftiType& type) { return type.code == code; });
  return found == types.end() ? nullptr : &*found;
}

std::string nifti_code_name(int datatype) {
  const NiftiType* type = find_nifti_type(datatype);
  return type == nullptr ? "" : type->name;
}

std::string nifti_type_name(int datatype) {
  const NiftiType* type = find_nifti_type(datatype);
  return type == nullptr || type->voxel_type < 0 ? "" : type->name;
}

}  // namespace larmor
