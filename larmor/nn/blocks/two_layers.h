// Two linear layers with something between them: a feed-forward part, or a head.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "larmor/nn/blocks/block.h"
#include "larmor/nn/blocks/dropout.h"
#include "larmor/nn/blocks/layer_weights.h"

namespace larmor::nn {

/// Linear, GELU or ReLU, dropout, linear: `0` and `3` of a torch.nn.Sequential of the four.
class TwoLayers final : public Block {
 public:
  enum class Between { gelu, relu };
  struct Shape {
    int64_t in, hidden, out;
    Between between = Between::relu;
  };
  /// `path` as Dropout's.
  TwoLayers(const Shape& shape, double drop, const std::string& path, c10::Device device);
  at::Tensor forward(const at::Tensor& input) override;  // [..., in] to [..., out]

 private:
  Between between_;
  std::shared_ptr<LayerWeights> first_, second_;
  std::shared_ptr<Dropout> dropout_;
};

}  // namespace larmor::nn
