// Whether a radiograph is one of a CT: the CT's own projection beside it.
#pragma once

#include <ATen/core/Tensor.h>

namespace larmor::xray_to_ct {

/// Normalised cross-correlation of two images of one size, in [-1, 1]; 0 where one of them is flat.
double correlation_of(const at::Tensor& a, const at::Tensor& b);

/// That of a radiograph with a CT's line integrals, over the CT's shadow: the pixels where it attenuates by
/// more than a fiftieth of the most. What lies beside it is black in every radiograph, and would make all
/// patients alike.
double correlation_in_shadow(const at::Tensor& line_integrals, const at::Tensor& radiograph);

/// radiograph = line integrals * scale + offset, by least squares.
struct Intensity {
  double scale = 1, offset = 0;
};
Intensity fitted_intensity(const at::Tensor& line_integrals, const at::Tensor& radiograph);

}  // namespace larmor::xray_to_ct
