// The parts of a HybridVit: the encoder of radiographs, and what each stage has of its own.
#pragma once

#include <memory>
#include <vector>

#include "larmor/nn/blocks/conv_block.h"
#include "larmor/nn/blocks/group_norm.h"
#include "larmor/nn/networks/hybrid_vit/hybrid_vit.h"
#include "larmor/nn/networks/hybrid_vit/vit_block.h"

namespace larmor::nn {

inline constexpr int64_t xray_channels = 512, xray_condition_channels = 1024, time_channels = 256,
                         previous_channels = 256;

/// Weights: `encoder.{0,3,6}`, `time_mlp.{0,2}`, `to_cond`.
class XrayEncoder final : public torch::nn::Module {
 public:
  explicit XrayEncoder(c10::Device device);
  /// xrays [N, V, rows, columns], time [N, time_channels], give features and condition as HybridVit::Encoded.
  std::vector<at::Tensor> forward(const at::Tensor& xrays, const at::Tensor& time);

 private:
  std::vector<std::shared_ptr<LayerWeights>> convolutions_;
  std::shared_ptr<LayerWeights> time_first_, time_second_, to_condition_;
};

/// Weights: `depth_net.{0,1,3,4,6}`, `prior_modulation.0`.
class DepthLifter final : public torch::nn::Module {
 public:
  DepthLifter(int64_t depth, c10::Device device);
  /// features [N, 512, h, w] to weights [N, depth, h, w] that add up to one along each ray.
  at::Tensor forward(const at::Tensor& features);

 private:
  std::vector<std::shared_ptr<LayerWeights>> convolutions_;
  std::vector<std::shared_ptr<GroupNorm>> norms_;
  std::shared_ptr<LayerWeights> modulation_;
};

/// Weights: `voxel_embed.K`, `pos_embed`, `blocks.i`, `norm`, `output_proj`.
class HybridVitBackbone final : public torch::nn::Module {
 public:
  HybridVitBackbone(const HybridVitStageOptions& stage, const HybridVitOptions& options, c10::Device device);
  /// noisy [N, 1, D, H, W], context [N, M, 512], condition [N, …].
  at::Tensor forward(const at::Tensor& noisy, const at::Tensor& context, const at::Tensor& condition);

 private:
  class VoxelEmbedding;
  class Output;

  int64_t grid_;
  std::shared_ptr<VoxelEmbedding> voxel_embed_;
  at::Tensor pos_embed_;  // [1, grid³, C]
  BlockList<VitBlock> blocks_;
  std::shared_ptr<LayerNorm> norm_;
  std::shared_ptr<LayerWeights> output_;
};

/// Weights: `depth_lifter.depth_networks.depth_<D>`, `depth_to_volume`, `vit_backbone`.
class HybridVitStage final : public torch::nn::Module {
 public:
  HybridVitStage(const HybridVitStageOptions& stage, const HybridVitOptions& options, c10::Device device);
  HybridVitImpl::Lifted lift(const at::Tensor& features) const;
  at::Tensor forward(const at::Tensor& noisy, const at::Tensor& features, const at::Tensor& condition) const;

 private:
  std::shared_ptr<DepthLifter> lifter_;
  std::shared_ptr<LayerWeights> to_volume_;
  std::shared_ptr<HybridVitBackbone> backbone_;
};

}  // namespace larmor::nn
