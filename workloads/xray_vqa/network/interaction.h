// Where picture, question and scene meet: attention of each to another, and what is left of all three.
// Source: SSG-VQA-Net's scene-embedded interaction module, as adapted to MIMIC-CXR.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <torch/nn/module.h>

#include "larmor/nn/blocks/block.h"
#include "larmor/nn/blocks/layer_norm.h"
#include "larmor/nn/blocks/multihead_attention.h"

namespace larmor::xray_vqa {

struct InteractionOptions {
  int64_t width = 768, heads = 12, intermediate = 3072, layers = 2;
  double dropout = 0.1;
  /// The part of attention's weights that is dropped, 0.1 in the original: above 0 attention is computed in
  /// parts in training.
  double attention_dropout = 0;
};

/// What the module makes of its three inputs, and the sum of their means [N, width] after a feed-forward
/// layer.
struct Interaction {
  at::Tensor visual, text, scene, fused;
};

class InteractionModule final : public torch::nn::Module {
 public:
  InteractionModule(const InteractionOptions& options, c10::Device device);
  /// visual and scene [N, O, width] of the objects in objects_mask [N, O], text [N, L, width] of the tokens
  /// in tokens_mask [N, L]; every row has an object and a token.
  Interaction forward(const at::Tensor& visual, const at::Tensor& text, const at::Tensor& scene,
                      const at::Tensor& objects_mask, const at::Tensor& tokens_mask);
  /// How much the question looks at each object in the last layer: [N, O], a mean over heads and over the
  /// tokens that are there. Shapes as forward()'s.
  at::Tensor object_weights(const at::Tensor& visual, const at::Tensor& text, const at::Tensor& objects_mask,
                            const at::Tensor& tokens_mask) const;

 private:
  /// Attention beside a shortcut and before a norm, once a layer.
  struct Strand {
    std::vector<std::shared_ptr<nn::MultiheadAttention>> attentions;
    std::vector<std::shared_ptr<nn::LayerNorm>> norms;
    at::Tensor attend(std::size_t layer, const at::Tensor& tokens, const at::Tensor& context,
                      const at::Tensor& seen) const;
  };
  Strand strand(const char* attentions, const char* norms, const InteractionOptions& options,
                c10::Device device);

  Strand visual_, text_, scene_;
  std::shared_ptr<nn::Block> ffn_;
  std::shared_ptr<nn::LayerNorm> ffn_norm_;
};

}  // namespace larmor::xray_vqa
