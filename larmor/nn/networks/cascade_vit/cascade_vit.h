// The network of a stage of the cascade: convolutions with skips between voxels and tokens, and a transformer
// at their coarsest level. It gives every voxel of its volume: patches of the finest level, not numbers of
// the coarsest. Sources: Peebles and Xie 2023 (AdaLN-zero); Ho et al. 2021 (cascades).
#pragma once

#include <memory>
#include <vector>

#include <c10/core/Device.h>
#include <torch/nn/pimpl.h>

#include "larmor/nn/blocks/block.h"
#include "larmor/nn/networks/cascade_network.h"
#include "larmor/nn/networks/cascade_vit/cascade_vit_options.h"

namespace larmor::nn {

class ConvBlock;
class LayerWeights;
class NormSiluConv;
class TimeEmbedding;
class TimeResBlock;
class XrayLifter;

class CascadeVitImpl final : public CascadeNetwork {
 public:
  /// Throws Error (usage) as `check` does. A new network gives zeros, and its transformer is the identity. On
  /// c10::kMeta nothing is drawn or stored.
  explicit CascadeVitImpl(const CascadeVitOptions& options, c10::Device device = c10::kCPU);
  at::Tensor denoise(const CascadeInput& input) override;

  const CascadeVitOptions& options() const { return options_; }

 private:
  class Transformer;

  void add_levels(c10::Device device);
  at::Tensor condition_of(const CascadeInput& input, const at::Tensor& whole) const;
  void check_input(const CascadeInput& input) const;

  CascadeVitOptions options_;
  std::shared_ptr<TimeEmbedding> time_embed_, augmented_embed_;
  std::shared_ptr<XrayLifter> lifter_;
  std::shared_ptr<LayerWeights> to_condition_;
  std::shared_ptr<ConvBlock> conv_in_;
  std::vector<std::vector<std::shared_ptr<TimeResBlock>>> down_, up_;  // by level, the finest first
  std::vector<std::shared_ptr<ConvBlock>> halving_;                    // behind each level but the coarsest
  std::vector<std::shared_ptr<Block>> doubling_;                       // before each level but the coarsest
  std::shared_ptr<Transformer> transformer_;
  std::shared_ptr<NormSiluConv> out_;
};
TORCH_MODULE(CascadeVit);

/// [1, 18, g, g, g]: where each place of the finest level lies, in sines and cosines of its distance to the
/// middle along each axis, whatever their number. Convolutions know no places, and bodies are alike from
/// place to place.
at::Tensor place_features(int64_t grid, const at::Tensor& like);

/// [N, C, D, H, W] to [N, C * p³, D / p, H / p, W / p], and back.
at::Tensor space_to_depth(const at::Tensor& volume, int64_t patch);
at::Tensor depth_to_space(const at::Tensor& patches, int64_t patch);

}  // namespace larmor::nn
