// The patch discriminator of adversarial reconstruction, under MONAI's names.
// Source: monai.networks.nets.PatchDiscriminator (1.6), with instance normalisation.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <c10/core/Device.h>
#include <torch/nn/pimpl.h>

#include "larmor/config/fields.h"
#include "larmor/nn/blocks/conv_block.h"
#include "larmor/nn/frozen.h"

namespace larmor::nn {

/// MONAI's constructor arguments, by name; kernel 4, padding 1, LeakyReLU 0.2.
struct PatchDiscriminatorOptions {
  int64_t spatial_dims = 3;
  int64_t in_channels = 1, out_channels = 1;
  int64_t channels = 32;
  int64_t num_layers_d = 3;

  void describe(Fields& f);
  /// Throws Error (usage).
  void check() const;
  /// The shortest axis that leaves a logit map of one voxel.
  int64_t least_size() const;
};

class PatchDiscriminatorImpl : public torch::nn::Module {
 public:
  /// Weights from N(0, 0.02), biases 0, drawn from libtorch's default generator in MONAI's order: whoever
  /// wants known weights holds a lock and calls torch::manual_seed first. On c10::kMeta nothing is drawn or
  /// stored.
  explicit PatchDiscriminatorImpl(const PatchDiscriminatorOptions& options, c10::Device device = c10::kCPU);
  /// image [N, C, D, H, W]; the outputs of all stages, the last is the logit map.
  /// Throws Error (usage) when the image is too small or has other channels.
  std::vector<at::Tensor> forward(const at::Tensor& image);

 private:
  PatchDiscriminatorOptions options_;
  std::vector<std::shared_ptr<Block>> stages_;
};
TORCH_MODULE(PatchDiscriminator);

}  // namespace larmor::nn
