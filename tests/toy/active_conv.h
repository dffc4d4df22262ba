// The one block of the toy's networks.
#pragma once

#include <ATen/ops/silu.h>

#include "larmor/nn/blocks/conv_block.h"

namespace larmor::toy {

/// A convolution and SiLU.
class ActiveConv final : public nn::ConvBlock {
 public:
  using ConvBlock::ConvBlock;
  at::Tensor forward(const at::Tensor& input) override { return at::silu(ConvBlock::forward(input)); }
};

}  // namespace larmor::toy
