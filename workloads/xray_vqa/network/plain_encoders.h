// The encoders for who has neither a ConvNeXt nor a BERT: three convolutions, and an LSTM that reads both
// ways.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <torch/nn/module.h>

#include "larmor/nn/blocks/block.h"
#include "larmor/nn/blocks/layer_weights.h"

namespace larmor::xray_vqa {

/// Named as the torch.nn.Sequential of the original: `0`, `1`, `4`, `5`, `8`, `9`. It has batch norm.
class PlainImageEncoder final : public torch::nn::Module {
 public:
  static constexpr int64_t map_channels = 512;

  explicit PlainImageEncoder(c10::Device device);
  at::Tensor forward(const at::Tensor& image);  // [N, 3, H, W] to [N, 512, H / 8, W / 8]

 private:
  std::vector<std::shared_ptr<nn::Block>> convolutions_, norms_;
};

/// Named `embedding.weight` and `lstm.…`, as torch.nn.LSTM names them.
class PlainTextEncoder final : public torch::nn::Module {
 public:
  /// Requires: an even width.
  PlainTextEncoder(int64_t words, int64_t width, c10::Device device);
  at::Tensor forward(const at::Tensor& tokens);  // [N, L] (int64) to [N, L, width]

 private:
  class Lstm;
  std::shared_ptr<nn::LayerWeights> embedding_;
  std::shared_ptr<Lstm> lstm_;
};

}  // namespace larmor::xray_vqa
