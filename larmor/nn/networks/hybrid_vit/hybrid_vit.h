// The networks of Hybrid-ViT-Cascade under their own names: radiographs steer a transformer of 16³ tokens,
// whose output is one number a token, whatever the size of the volume. Kept to be compared with; our own is
// cascade_vit.h. Source: kanadm12/Hybrid-ViT-Cascade.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <c10/core/Device.h>
#include <torch/nn/pimpl.h>

#include "larmor/nn/blocks/block.h"
#include "larmor/nn/networks/cascade_network.h"

namespace larmor::nn {

class HybridVitStage;
class LayerWeights;
class TimeEmbedding;
class XrayEncoder;

struct HybridVitStageOptions {
  std::string name = "stage1";
  int64_t volume_size = 64;  // voxels an axis, a multiple of the tokens an axis by a power of two
  int64_t voxel_dim = 256, vit_depth = 4, num_heads = 4;
  bool follows_another = false;  // is told the mean of the stage before it
};

struct HybridVitOptions {
  std::vector<HybridVitStageOptions> stages = {};
  int64_t token_grid = 16;  // tokens an axis
  double dropout = 0.1;

  /// Throws Error (usage).
  void check() const;
};

/// One stage or several, which share the encoder of radiographs and the embedding of time.
class HybridVitImpl final : public CascadeNetwork {
 public:
  /// Throws Error (usage) as `check` does. On c10::kMeta nothing is drawn or stored.
  explicit HybridVitImpl(const HybridVitOptions& options, c10::Device device = c10::kCPU);

  /// The sample of the first stage.
  at::Tensor denoise(const CascadeInput& input) override;
  at::Tensor denoise(const std::string& stage, const CascadeInput& input);

  struct Encoded {
    at::Tensor features;   // [N, 512, rows / 8, columns / 8], the mean of the views
    at::Tensor condition;  // [N, 1024]
  };
  Encoded encode(const CascadeInput& input);
  /// Where along a ray each feature lies, [N, D, rows / 8, columns / 8], and what is added to the noisy
  /// volume before it has its size.
  struct Lifted {
    at::Tensor weights, prior;  // prior: [N, 1, D, rows / 8, columns / 8]
  };
  Lifted lift(const std::string& stage, const at::Tensor& features);

 private:
  void check_input(const HybridVitStageOptions& stage, const CascadeInput& input) const;
  const HybridVitStageOptions& named(const std::string& stage) const;

  HybridVitOptions options_;
  std::shared_ptr<TimeEmbedding> time_embed_;
  std::shared_ptr<XrayEncoder> encoder_;
  std::map<std::string, std::shared_ptr<HybridVitStage>> stages_;
  std::map<std::string, std::shared_ptr<LayerWeights>> projectors_;
};
TORCH_MODULE(HybridVit);

}  // namespace larmor::nn
