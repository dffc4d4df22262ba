// The loops between a volume and the columns of a matrix, for convolutions as products of matrices on CPUs.
// No libtorch: stretches of memory and sizes. Every number of a matrix is written, whatever the sizes.
#pragma once

#include <array>
#include <cstdint>

#include "larmor/kernels/norms/group_norm_silu_cpu.h"

namespace larmor::conv_columns {

using group_norms::Bfloat16;
using PerAxis = std::array<int64_t, 3>;

/// Volumes [samples, depth, height, width, channels] and how a kernel goes over them.
struct Shape {
  int64_t samples, channels;
  PerAxis image, kernel, stride, padding, result;

  /// Rows of results along the last axis, in the order of memory.
  int64_t rows() const { return samples * result[0] * result[1]; }
  int64_t row_length() const { return result[2]; }
  int64_t image_rows() const { return samples * image[0] * image[1]; }
  /// Numbers that one result is the sum of.
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2] * channels; }
};

/// Rows of results from `first` until before `end`, each result a row of a matrix with `pitch` columns.
struct Stretch {
  int64_t first, end, pitch;
};

/// Fills the matrix for rows of results from `first` until before `end` of the stretch: what each result sees
/// of the volume, tap after tap, zeros where it sees the padding; then a one, by which a bias is multiplied,
/// and zeros up to the pitch. `matrix` begins with the stretch. Any threads may share the rows.
template <class Element>
void gather(const Shape& shape, const Stretch& stretch, const Element* volumes, int64_t first, int64_t end,
            Element* matrix);

/// The adjoint: adds what the stretch's matrix has of each voxel to sums [image_rows(), width, channels], for
/// rows of the image from `first` until before `end`, in the order of the taps. Any threads may share the
/// rows.
template <class Element>
void scatter(const Shape& shape, const Stretch& stretch, const Element* matrix, int64_t first, int64_t end,
             float* sums);

}  // namespace larmor::conv_columns
