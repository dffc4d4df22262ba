// The network that answers a question about a radiograph with one of four heads, and says which of CheXpert's
// labels it shows. Source: SSG-VQA-Net, as adapted to MIMIC-CXR.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <torch/nn/pimpl.h>

#include "larmor/nn/blocks/answer_heads.h"
#include "larmor/nn/blocks/layer_weights.h"
#include "larmor/nn/blocks/two_layers.h"
#include "larmor/nn/networks/bert/bert.h"
#include "larmor/nn/networks/convnext/convnext.h"

#include "workloads/xray_vqa/data/question_types.h"
#include "workloads/xray_vqa/data/sample.h"
#include "workloads/xray_vqa/network/interaction.h"
#include "workloads/xray_vqa/network/plain_encoders.h"
#include "workloads/xray_vqa/network/scene_encoder.h"

namespace larmor::xray_vqa {

enum class ImageEncoder { convnext, plain, none };
enum class TextEncoder { bert, plain, none };

struct VqaOptions {
  ImageEncoder image_encoder = ImageEncoder::convnext;  // none: maps come from elsewhere
  TextEncoder text_encoder = TextEncoder::bert;         // none: states come from elsewhere
  nn::ConvNextOptions convnext;
  nn::BertOptions bert;      // its width is that of the interaction, its words those of the vocabulary
  int64_t map_channels = 0;  // of maps that come from elsewhere
  InteractionOptions interaction;
  int64_t projection = 512;  // of a region's features
  int64_t embedding = 64;    // of regions and of entities
  std::array<int64_t, heads> head_hidden = {256, 512, 512, 128};
  int64_t labels_hidden = 512;
};

/// What the network makes of a batch.
struct VqaOutputs {
  at::Tensor regions;  // [N, O, projection]
  at::Tensor scene;    // [N, O, 6 + 2 embedding]
  Interaction interaction;
  std::array<at::Tensor, heads> answers;  // logits [N, classes], by Head
  at::Tensor labels;                      // logits [N, 14]
};

/// Which tensors the network reads; names and shapes as in data/sample.h.
struct VqaInputs {
  at::Tensor image, tokens, tokens_mask, boxes, regions, entities, objects_mask;
};

class VqaNetworkImpl : public torch::nn::Module {
 public:
  /// Weights from libtorch's default generator; on c10::kMeta nothing is drawn or stored. Throws Error
  /// (usage) as ConvNext and Bert, and for a text encoder whose width is not the interaction's.
  explicit VqaNetworkImpl(const VqaOptions& options, c10::Device device = c10::kCPU);

  VqaOutputs forward(const VqaInputs& inputs);

  /// The three parts of it: the map of an image [N, C, H, W], the states of tokens [N, L, width], and what
  /// stands behind both.
  at::Tensor map_of(const at::Tensor& image);
  at::Tensor states_of(const at::Tensor& tokens, const at::Tensor& tokens_mask);
  VqaOutputs answer(const at::Tensor& map, const at::Tensor& states, const VqaInputs& inputs);

  /// How much the question looks at each box, [N, O]. `outputs` is answer()'s of the same inputs.
  at::Tensor box_weights(const VqaOutputs& outputs, const at::Tensor& states, const VqaInputs& inputs);

  /// One of the encoders; null where it comes from elsewhere.
  torch::nn::Module* image_encoder();
  torch::nn::Module* text_encoder();
  const VqaOptions& options() const { return options_; }

 private:
  void add_encoders(c10::Device device);

  VqaOptions options_;
  nn::ConvNext convnext_{nullptr};
  nn::Bert bert_{nullptr};
  std::shared_ptr<PlainImageEncoder> plain_image_;
  std::shared_ptr<PlainTextEncoder> plain_text_;
  std::shared_ptr<LinearNormGelu> projection_;
  std::shared_ptr<SceneEncoder> scene_encoder_;
  std::shared_ptr<nn::LayerWeights> visual_proj_, scene_proj_;
  std::shared_ptr<InteractionModule> sim_;
  std::shared_ptr<nn::AnswerHeads> heads_;
  std::shared_ptr<nn::TwoLayers> labels_;
};
TORCH_MODULE(VqaNetwork);

}  // namespace larmor::xray_vqa
