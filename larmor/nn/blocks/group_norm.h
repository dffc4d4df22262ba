// Group normalisation, alone or followed by SiLU.
#pragma once

#include <cstdint>

#include <c10/core/Device.h>

#include "larmor/kernels/convolution/group_norm_silu_conv.h"
#include "larmor/nn/blocks/block.h"

namespace larmor::nn {

class GroupNorm : public Block {
 public:
  GroupNorm(int64_t groups, int64_t channels, double epsilon, c10::Device device);
  at::Tensor forward(const at::Tensor& input) override;
  /// SiLU of the normalised input.
  at::Tensor forward_silu(const at::Tensor& input);
  GroupNormWeights weights() const { return {groups_, weight_, bias_, epsilon_}; }

 private:
  int64_t groups_;
  double epsilon_;
  at::Tensor weight_, bias_;  // [C]
};

}  // namespace larmor::nn
