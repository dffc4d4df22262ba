// The parts of conv3d(), for operators that convolve what they have computed themselves.
#pragma once

#include <array>
#include <cstdint>
#include <tuple>

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include "larmor/device/layout.h"

namespace larmor {

/// The way by which a convolution is computed.
enum class ConvPath : uint8_t {
  libtorch,      // which chooses
  one_dnn,       // called by ourselves
  padded,        // oneDNN, of a copy of the volumes with zeros around it
  columns,       // column_conv()
  wide_columns,  // column_conv() in float32, whatever the type
  winograd       // winograd_conv()
};

/// How conv3d() convolves an input: read from the input, autocast and layout_here() before, since backward
/// runs where neither is set.
struct Conv3dForm {
  std::array<int64_t, 3> stride, padding;
  at::ScalarType type;  // of the product
  ConvPath path;
  bool keeps_layout;
  Layout within, layout;  // of the product, and of the result
};

Conv3dForm conv3d_form(const at::Tensor& input, const at::Tensor& weight,
                       const std::array<int64_t, 3>& stride, const std::array<int64_t, 3>& padding);

/// The input, the weight and the bias in the type and layout of the product. Differentiable.
at::Tensor volumes_for(const Conv3dForm& form, const at::Tensor& input);
at::Tensor kernel_for(const Conv3dForm& form, const at::Tensor& weight);
at::Tensor bias_for(const Conv3dForm& form, const at::Tensor& bias);

/// Whether the bias is added behind the product, by add_channel_bias(), and not within.
bool has_bias_apart(const Conv3dForm& form, const at::Tensor& input, const at::Tensor& bias);

/// The convolution of these. Differentiable.
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
