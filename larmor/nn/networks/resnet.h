// The 3-D ResNet of 10 to 200 layers, under MONAI's names.
// Source: monai.networks.nets.resnet (1.6); He et al. 2015; Hara et al. 2017.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <c10/core/Device.h>
#include <torch/nn/pimpl.h>

#include "larmor/config/fields.h"
#include "larmor/nn/blocks/block.h"

namespace larmor::nn {

enum class ResNetNorm { batch, group, instance };
/// MONAI's A and B: what stands beside a block that changes channels or resolution.
enum class ResNetShortcut { zero_padding, convolution };

/// MONAI's constructor arguments, by name. Unlike MONAI's, `norm` holds for the whole network, not for the
/// stem alone.
struct ResNetOptions {
  int64_t depth = 18;  // 10, 18, 34, 50, 101, 152 or 200
  int64_t n_input_channels = 1, num_classes = 1;
  std::vector<int64_t> conv1_t_size = {7}, conv1_t_stride = {1};  // one for all axes, or D, H, W
  bool no_max_pool = false;
  double widen_factor = 1;  // of all channels, rounded down
  ResNetShortcut shortcut_type = ResNetShortcut::convolution;
  bool bias_downsample = true;
  ResNetNorm norm = ResNetNorm::batch;
  int64_t norm_num_groups = 8;  // of group norm: eight channels a group in the stem, as MONAI's SegResNet

  void describe(Fields& f);
  /// The channels of the blocks of layer1 to layer4, or the bottlenecks' inner ones; the stem has those of
  /// the first.
  int64_t channels(int64_t level) const;
  /// Throws Error (usage): an unknown depth, sizes below 1, groups that do not divide the channels, no
  /// channels at all.
  void check() const;
};

class ResNetImpl : public torch::nn::Module {
 public:
  /// Throws Error (usage) as `check` does. Weights are Kaiming normal (fan out, ReLU) for convolutions and
  /// the last layer alike, biases 0, norms 1 and 0, drawn from libtorch's default generator in the order of
  /// the state dict: whoever wants known weights holds a lock and calls torch::manual_seed first. On
  /// c10::kMeta nothing is drawn or stored; such a network has shapes to count and no more.
  explicit ResNetImpl(const ResNetOptions& options, c10::Device device = c10::kCPU);

  /// image [N, C, D, H, W] to [N, num_classes], without activation.
  /// Throws Error (usage) when the channels are others, or when a norm would see a single value.
  at::Tensor forward(const at::Tensor& image);

  /// The two halves of it: [N, C, D, H, W] to [N, features], and from there to [N, num_classes].
  at::Tensor features(const at::Tensor& image);
  at::Tensor head(const at::Tensor& features);

 private:
  ResNetOptions options_;
  std::shared_ptr<Block> conv1_, bn1_, fc_;
  std::vector<std::shared_ptr<Block>> blocks_;  // of layer1 to layer4, in order
};
TORCH_MODULE(ResNet);

}  // namespace larmor::nn
