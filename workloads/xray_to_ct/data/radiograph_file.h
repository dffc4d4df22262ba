// Radiographs as they lie on disk: pictures, arrays, NIfTI and DICOM files of any range and shape.
#pragma once

#include <cstdint>
#include <filesystem>

#include <ATen/core/Tensor.h>

namespace larmor::xray_to_ct {

/// voxels [channels, columns, rows, 1] as read_volume() gives a picture, to [rows, columns] in [0, 1]: grey,
/// from 0 to the largest number of as many bits as the values take (1 where none is above 1). Throws Error
/// (data) for a volume.
at::Tensor radiograph_of(const at::Tensor& voxels);

/// image [rows, columns] in [0, 1] to [size, size] in [-1, 1]: black beside the shorter edge, then scaled,
/// averaging where it shrinks.
at::Tensor fitted_radiograph(const at::Tensor& image, int64_t size, bool flip_vertical);

/// radiograph_of() of a file. NumPy arrays are [rows, columns]. Throws Error (data).
at::Tensor read_radiograph(const std::filesystem::path& path);

}  // namespace larmor::xray_to_ct
