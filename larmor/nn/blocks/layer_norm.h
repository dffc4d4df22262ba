// Layer normalisation of tokens.
#pragma once

#include <cstdint>

#include <c10/core/Device.h>

#include "larmor/nn/blocks/block.h"

namespace larmor::nn {

/// libtorch's, for weights of any width: its CPU kernel takes none that are narrower than the input, and ZeRO
/// in mixed precision has such.
at::Tensor layer_norm(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                      double epsilon);

/// PyTorch's LayerNorm over the last axis, with its names.
class LayerNorm final : public Block {
 public:
  explicit LayerNorm(int64_t channels, c10::Device device = c10::kCPU, double epsilon = 1e-5);
  at::Tensor forward(const at::Tensor& tokens) override;  // [..., C]
  /// Times (1 + scale) plus shift, as AdaLN has it. tokens [N, ..., C], scale and shift [N, C]; the result
  /// has the type of the tokens.
  at::Tensor forward_modulated(const at::Tensor& tokens, const at::Tensor& scale, const at::Tensor& shift);

 private:
  double epsilon_;
  at::Tensor weight_, bias_;  // [C]
};

}  // namespace larmor::nn
