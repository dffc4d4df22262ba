// The gradients of a linear layer by oneDNN's products of matrices, for operators that have such a layer in
// them.
#pragma once

#include <array>

#include <ATen/core/Tensor.h>

namespace larmor {

struct LinearGradients {
  at::Tensor of_input, of_weight, of_bias;  // [rows, in], [out, in], [out]; undefined where not wanted
};

/// slopes [rows, out] of the result, rows [rows, in] and weight [out, in], all contiguous. Requires:
/// is_layer_by_one_dnn()
LinearGradients linear_gradients(const at::Tensor& slopes, const at::Tensor& rows, const at::Tensor& weight,
                                 const std::array<bool, 3>& wanted);

}  // namespace larmor
