// LPIPS 0.1 on SqueezeNet 1.1: how different two images look, as far as the maps of a frozen network tell.
// Source: Zhang et al. 2018; weights and formula of richzhang/PerceptualSimilarity 0.1.4.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include "larmor/nn/networks/squeezenet.h"

namespace larmor::nn {

/// Nothing in it learns. Its trunk `features` begins at random, always at the same numbers; its linear layers
/// are the published ones.
class Lpips final : public torch::nn::Module {
 public:
  /// The network has shapes alone on c10::kMeta.
  explicit Lpips(c10::Device device = c10::kCPU);

  /// The trunk of a safetensors file under torchvision's names (`features.N.…`), and the linear layers where
  /// the file has them (`linN.model.1.weight`); other tensors of the file are of no meaning here. Throws
  /// Error (usage) naming the file where the trunk is not whole.
  void read_weights(const std::string& file);

  /// a, b [N, 1 or 3, H, W], axes of SqueezeNetFeatures::least_size and more; values as they are, without the
  /// step from [0, 1] to [-1, 1]. [N, 7]: the distance at each tap, whose sum is LPIPS.
  at::Tensor per_tap(const at::Tensor& a, const at::Tensor& b);
  /// [N]
  at::Tensor distance(const at::Tensor& a, const at::Tensor& b) { return per_tap(a, b).sum(1); }

 private:
  std::shared_ptr<SqueezeNetFeatures> features_;
  at::Tensor shift_, scale_;        // [1, 3, 1, 1], of the images before the trunk
  std::vector<at::Tensor> linear_;  // [1, channels, 1, 1], a tap each
};

/// LPIPS of volumes: [N], for each axis the mean distance of drawn slices of an example across it, summed
/// over the three axes. volume, target [N, C, D, H, W]; each channel is an image of its own. `share` of an
/// axis' slices, one at least, is drawn (kernels/draw/draw.h), so that an example has the same slices
/// whatever it is batched with. Source: monai.losses.PerceptualLoss(is_fake_3d=True), which draws over the
/// batch.
at::Tensor slice_distance(Lpips& lpips, const at::Tensor& volume, const at::Tensor& target, double share);

}  // namespace larmor::nn
