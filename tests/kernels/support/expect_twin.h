// What every operator of larmor/kernels has to show: on each layout and floating type the values of a twin in
// plain libtorch, the shapes on the meta device that it has on a CPU, and the gradient that differences say.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace larmor::testing {

/// Of one floating tensor, whose layout and type the cases vary, and of tensors that stay as they are.
struct TwinCase {
  std::vector<int64_t> sizes;      // of the floating tensor, [N, C, D, H, W] for channels-last-3d to be tried
  std::vector<at::Tensor> others;  // moved to the meta device with it
  bool is_differentiable = true;   // whether a gradient goes to the floating tensor
  double tolerance = 0;            // relative, of values against the twin's; 0: the same bits
  std::vector<at::ScalarType> types = {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16};
};

using KernelFunction = std::function<at::Tensor(const at::Tensor&, const std::vector<at::Tensor>&)>;

void expect_twin(const KernelFunction& kernel, const KernelFunction& twin, const TwinCase& given);

}  // namespace larmor::testing
