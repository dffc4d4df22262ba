// The parts of conv3d(), for operators that convolve what they have computed themselves.
#pragma once

#include <array>
#include <tuple>

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include "larmor/device/layout.h"

namespace larmor {

/// How conv3d() convolves an input: read from the input, autocast and layout_here() before, since backward
/// runs where neither is set.
struct Conv3dForm {
  std::array<int64_t, 3> stride, padding;
  at::ScalarType type;  // of the product
  bool by_one_dnn;      // called by ourselves, not where libtorch chooses it
  bool keeps_layout;
  bool by_winograd;       // winograd_conv() in place of oneDNN
  Layout within, layout;  // of the product, and of the result
};

Conv3dForm conv3d_form(const at::Tensor& input, const at::Tensor& weight,
                       const std::array<int64_t, 3>& stride, const std::array<int64_t, 3>& padding);

/// What conv3d() pads before: there is no form for it.
bool wants_padded_image(const at::Tensor& input, const at::Tensor& weight);

/// The input, the weight and the bias in the type and layout of the product. Differentiable.
at::Tensor volumes_for(const Conv3dForm& form, const at::Tensor& input);
at::Tensor kernel_for(const Conv3dForm& form, const at::Tensor& weight);
at::Tensor bias_for(const Conv3dForm& form, const at::Tensor& bias);

/// Of these. Differentiable.
at::Tensor convolved(const Conv3dForm& form, const at::Tensor& volumes, const at::Tensor& kernel,
                     const at::Tensor& bias);

/// The gradients of volumes, kernel and bias where they are wanted, for operators that differentiate
/// convolved() themselves.
std::tuple<at::Tensor, at::Tensor, at::Tensor> convolved_gradients(const Conv3dForm& form,
                                                                   const at::Tensor& gradient,
                                                                   const at::Tensor& volumes,
                                                                   const at::Tensor& kernel,
                                                                   const std::array<bool, 3>& wanted);

}  // namespace larmor
