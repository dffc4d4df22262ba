// How slices lie in the body: their order, and the one matrix that places all of them.
// Source: PS3.3 C.7.6.2 (image plane module).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "larmor/formats/affine.h"
#include "larmor/formats/dicom/dicom_header.h"

namespace larmor {

struct DicomSlice {
  std::string name;  // of the file or the frame, for messages
  int64_t rows = 0, columns = 0;
  DicomPlane plane;
};

struct SliceStack {
  std::vector<std::size_t> order;     // of the slices given, along the normal of their planes
  Affine affine = identity_affine();  // voxel (column, row, slice) to RAS millimetres
  std::vector<std::string> problems;
};

/// Slices of one volume. Alone, a slice may do without a place; several may not. Throws Error (data), naming
/// slices: different sizes, spacings or directions, two at one place, a gap, a tilted stack. `step` is the
/// distance that a file gives itself, for when there is only one slice.
SliceStack stack_slices(const std::vector<DicomSlice>& slices, std::optional<double> step);

}  // namespace larmor
