// The convolutions of SqueezeNet 1.1, whose maps LPIPS compares. Names of weights: torchvision's,
// `features.N`.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

namespace larmor::nn {

class LayerWeights;
class Fire;

class SqueezeNetFeatures final : public torch::nn::Module {
 public:
  /// The shortest axis of an image that leaves a map of one pixel.
  static constexpr int64_t least_size = 17;
  static const std::vector<int64_t>& tap_channels();  // 64, 128, 256, 384, 384, 512, 512

  /// Drawn from libtorch's default generator as torchvision draws them; nothing on c10::kMeta.
  explicit SqueezeNetFeatures(c10::Device device);
  /// image [N, 3, H, W]; the maps [N, tap_channels, h, w] behind modules 1, 4, 7, 9, 10, 11 and 12.
  std::vector<at::Tensor> forward(const at::Tensor& image);

 private:
  std::shared_ptr<LayerWeights> stem_;
  std::vector<std::shared_ptr<Fire>> fires_;
};

}  // namespace larmor::nn
