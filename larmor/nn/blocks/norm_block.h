// What a normalisation of channels is to the network around it: a block that may be followed by ReLU, and
// that another tensor may be added to in between.
#pragma once

#include "larmor/nn/blocks/block.h"

namespace larmor::nn {

enum class Behind { nothing, relu };

class NormBlock : public Block {
 public:
  at::Tensor forward(const at::Tensor& input) final { return forward_onto(input, at::Tensor()); }
  /// The residual, which lies as the input or is undefined, is added before what stands behind the norm.
  virtual at::Tensor forward_onto(const at::Tensor& input, const at::Tensor& residual) = 0;
};

}  // namespace larmor::nn
