// Layer normalisation of tokens.
#pragma once

#include <cstdint>

#include <c10/core/Device.h>

#include "larmor/nn/blocks/block.h"

namespace larmor::nn {

/// PyTorch's LayerNorm over the last axis, with its names.
class LayerNorm final : public Block {
 public:
  explicit LayerNorm(int64_t channels, c10::Device device = c10::kCPU, double epsilon = 1e-5);
  at::Tensor forward(const at::Tensor& tokens) override;  // [..., C]

 private:
  double epsilon_;
  at::Tensor weight_, bias_;  // [C]
};

}  // namespace larmor::nn
