// What is known of the objects of a radiograph before it is looked at: where they are, in which region, of
// which kind. Source: SSG-VQA-Net, as adapted to MIMIC-CXR.
#pragma once

#include <cstdint>
#include <memory>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <torch/nn/module.h>

#include "larmor/nn/blocks/layer_norm.h"
#include "larmor/nn/blocks/layer_weights.h"

namespace larmor::xray_vqa {

/// Linear, layer norm, GELU under names `first` and `first + 1` of a torch.nn.Sequential.
class LinearNormGelu final : public torch::nn::Module {
 public:
  LinearNormGelu(int64_t in, int64_t out, int64_t first, c10::Device device);
  at::Tensor forward(const at::Tensor& input);  // [..., in] to [..., out]

 private:
  std::shared_ptr<nn::LayerWeights> linear_;
  std::shared_ptr<nn::LayerNorm> norm_;
};

class SceneEncoder final : public torch::nn::Module {
 public:
  /// Embeddings of `width` numbers, for so many regions and entities.
  SceneEncoder(int64_t regions, int64_t entities, int64_t width, c10::Device device);
  /// boxes [N, O, 4], regions and entities [N, O] (int64), objects_mask [N, O] to [N, O, 6 + 2 width]: the
  /// box, its area and its shape, the region, the entity; zero for objects that are not there.
  at::Tensor forward(const at::Tensor& boxes, const at::Tensor& regions, const at::Tensor& entities,
                     const at::Tensor& objects_mask);

 private:
  std::shared_ptr<nn::LayerWeights> region_embedding_, entity_embedding_;
  std::shared_ptr<LinearNormGelu> region_proj_, entity_proj_;
};

}  // namespace larmor::xray_vqa
