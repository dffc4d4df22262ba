// ConvNeXt, a convolutional network for pictures, under timm's names.
// Source: Liu et al. 2022; timm.models.convnext (1.0).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <torch/nn/pimpl.h>

#include "larmor/nn/blocks/block.h"
#include "larmor/nn/blocks/layer_norm.h"
#include "larmor/nn/blocks/layer_weights.h"

namespace larmor::nn {

/// What comes out, and with it how timm names the weights: `stem.0`, `stages.0`, `head.fc` of a classifier,
/// or `stem_0`, `stages_0` of a network whose maps are wanted, which has neither a last norm nor a head.
enum class ConvNextForm { features, classifier };

struct ConvNextOptions {
  std::vector<int64_t> depths = {3, 3, 27, 3}, dims = {128, 256, 512, 1024};  // of the stages
  int64_t in_chans = 3;
  int64_t num_classes = 1000;  // of a classifier
  double layer_scale = 1e-6;   // that blocks start with
  double drop_path_rate = 0;   // of the last block; it rises evenly from 0 at the first
  ConvNextForm form = ConvNextForm::features;

  /// The sizes of timm that have a name: atto, femto, pico, nano, tiny, small, base, large, xlarge.
  static const std::vector<std::string>& sizes();
  /// Throws Error (usage) for another name.
  static ConvNextOptions of_size(std::string_view size);
  /// Throws Error (usage): as many depths as dims, all of at least 1.
  void check() const;
};

class ConvNextStage;

class ConvNextImpl : public torch::nn::Module {
 public:
  /// Weights are normal with deviation 0.02, biases 0, layer scales as the options say, from libtorch's
  /// default generator. `path` is where the network stands in its owner (Dropout). On c10::kMeta nothing is
  /// drawn or stored. Throws Error (usage) as `check` does.
  explicit ConvNextImpl(const ConvNextOptions& options, c10::Device device = c10::kCPU,
                        const std::string& path = "convnext");
  ~ConvNextImpl() override;

  /// image [N, in_chans, H, W] to one map a stage, [N, dims, H / 4, W / 4] and each later one half as high
  /// and wide. Throws Error (usage) for other channels, and for images of fewer than 4 · 2^(stages - 1)
  /// pixels along an axis.
  std::vector<at::Tensor> maps(const at::Tensor& image);
  /// The last of the maps.
  at::Tensor features(const at::Tensor& image);
  /// [N, num_classes]. Requires: the form is a classifier's.
  at::Tensor forward(const at::Tensor& image);

  const ConvNextOptions& options() const { return options_; }

 private:
  class Head;

  at::Tensor stem(const at::Tensor& image);

  ConvNextOptions options_;
  std::shared_ptr<Block> stem_conv_, stem_norm_;
  std::vector<std::shared_ptr<ConvNextStage>> stages_;
  std::shared_ptr<Head> head_;
};
TORCH_MODULE(ConvNext);

}  // namespace larmor::nn
