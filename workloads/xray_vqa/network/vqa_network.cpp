#include "workloads/xray_vqa/network/vqa_network.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/run_block.h"

#include "workloads/xray_vqa/data/chexpert.h"
#include "workloads/xray_vqa/network/region_pooling.h"

namespace larmor::xray_vqa {
namespace {

constexpr int64_t box_numbers = 6;

int64_t channels_of_map(const VqaOptions& options) {
  if (options.image_encoder == ImageEncoder::convnext) return options.convnext.dims.back();
  if (options.image_encoder == ImageEncoder::plain) return PlainImageEncoder::map_channels;
  return options.map_channels;
}

VqaOptions checked_vqa(const VqaOptions& options) {
  const auto& interaction = options.interaction;
  if (options.text_encoder == TextEncoder::bert && options.bert.hidden_size != interaction.width)
    fail(Exit::usage,
         text("the text encoder is ", options.bert.hidden_size, " wide and the interaction ",
              interaction.width),
         "give both the same width");
  if (interaction.width % interaction.heads != 0 || interaction.width % 2 != 0)
    fail(Exit::usage, text("a width of ", interaction.width, " with ", interaction.heads, " heads cannot be"),
         "give an even width that the heads divide");
  return options;
}

}  // namespace

VqaNetworkImpl::VqaNetworkImpl(const VqaOptions& options, c10::Device device)
    : options_(checked_vqa(options)) {
  add_encoders(device);
  const int64_t width = options.interaction.width;
  scene_encoder_ = register_module(
      "scene_encoder", std::make_shared<SceneEncoder>(region_ids, entity_ids, options.embedding, device));
  visual_proj_ = register_module("visual_proj",
                                 nn::linear_weights(options.projection, width, /*has_bias=*/true, device));
  scene_proj_ = register_module("scene_proj", nn::linear_weights(box_numbers + 2 * options.embedding, width,
                                                                 /*has_bias=*/true, device));
  sim_ = register_module("sim", std::make_shared<InteractionModule>(options.interaction, device));
  std::vector<nn::AnswerHead> kinds;
  for (std::size_t i = 0; i < heads; ++i)
    kinds.push_back({.name = head_names[i], .hidden = options.head_hidden[i], .classes = head_classes[i]});
  heads_ = register_module(
      "answer_module", std::make_shared<nn::AnswerHeads>(width, kinds, options.interaction.dropout, device));
  const nn::TwoLayers::Shape classifier{.in = width, .hidden = options.labels_hidden, .out = chexpert_labels};
  labels_ =
      register_module("chexpert_head", std::make_shared<torch::nn::Module>())
          ->register_module("classifier", std::make_shared<nn::TwoLayers>(
                                              classifier, options.interaction.dropout, "chexpert", device));
}

void VqaNetworkImpl::add_encoders(c10::Device device) {
  const auto visual = register_module("visual_encoder", std::make_shared<torch::nn::Module>());
  if (options_.image_encoder == ImageEncoder::convnext) {
    convnext_ = nn::ConvNext(options_.convnext, device, "visual_encoder.backbone");
    visual->register_module("backbone", convnext_.ptr());
  } else if (options_.image_encoder == ImageEncoder::plain) {
    plain_image_ = visual->register_module("backbone", std::make_shared<PlainImageEncoder>(device));
  }
  projection_ = visual->register_module(
      "projection", std::make_shared<LinearNormGelu>(channels_of_map(options_), options_.projection,
                                                     /*first=*/2, device));
  if (options_.text_encoder == TextEncoder::bert) {
    const auto words = register_module("text_encoder", std::make_shared<torch::nn::Module>());
    bert_ = nn::Bert(options_.bert, device, "text_encoder");
    words->register_module("encoder", bert_.ptr());
    for (at::Tensor& parameter : bert_->pooler().parameters()) parameter.set_requires_grad(false);
  } else if (options_.text_encoder == TextEncoder::plain) {
    plain_text_ = register_module(
        "text_encoder",
        std::make_shared<PlainTextEncoder>(options_.bert.vocab_size, options_.interaction.width, device));
  }
}

torch::nn::Module* VqaNetworkImpl::image_encoder() {
  if (plain_image_ != nullptr) return plain_image_.get();
  return convnext_.is_empty() ? nullptr : convnext_.get();
}

torch::nn::Module* VqaNetworkImpl::text_encoder() {
  if (plain_text_ != nullptr) return plain_text_.get();
  return bert_.is_empty() ? nullptr : bert_.get();
}

at::Tensor VqaNetworkImpl::map_of(const at::Tensor& image) {
  return plain_image_ != nullptr ? plain_image_->forward(image) : convnext_->features(image);
}

at::Tensor VqaNetworkImpl::states_of(const at::Tensor& tokens, const at::Tensor& tokens_mask) {
  return plain_text_ != nullptr ? plain_text_->forward(tokens) : bert_->forward(tokens, tokens_mask);
}

VqaOutputs VqaNetworkImpl::answer(const at::Tensor& map, const at::Tensor& states, const VqaInputs& inputs) {
  const at::Tensor seen = looked_at(inputs.objects_mask);
  VqaOutputs outputs;
  const at::Tensor features =
      nn::run_block(projection_, pool_regions(map, inputs.boxes, inputs.objects_mask));
  outputs.regions = features * seen.unsqueeze(-1).to(features.scalar_type());
  outputs.scene =
      nn::run_block(scene_encoder_, inputs.boxes, inputs.regions, inputs.entities, inputs.objects_mask);
  const at::Tensor visual = nn::linear(outputs.regions, *visual_proj_);
  outputs.interaction =
      sim_->forward(visual, states, nn::linear(outputs.scene, *scene_proj_), seen, inputs.tokens_mask);
  std::ranges::move(heads_->forward(outputs.interaction.fused), outputs.answers.begin());
  outputs.labels = nn::run_block(labels_, masked_mean(visual, seen));
  return outputs;
}

at::Tensor VqaNetworkImpl::box_weights(const VqaOutputs& outputs, const at::Tensor& states,
                                       const VqaInputs& inputs) {
  return sim_->object_weights(nn::linear(outputs.regions, *visual_proj_), states,
                              looked_at(inputs.objects_mask), inputs.tokens_mask);
}

VqaOutputs VqaNetworkImpl::forward(const VqaInputs& inputs) {
  const at::Tensor map = map_of(inputs.image);
  return answer(map, states_of(inputs.tokens, inputs.tokens_mask), inputs);
}

}  // namespace larmor::xray_vqa
