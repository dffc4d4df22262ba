#include "workloads/xray_vqa/network/interaction.h"

#include <string>

#include <torch/nn/modules/container/modulelist.h>

#include "larmor/base/text.h"
#include "larmor/device/run_block.h"
#include "larmor/nn/blocks/two_layers.h"

#include "workloads/xray_vqa/network/region_pooling.h"

namespace larmor::xray_vqa {

InteractionModule::Strand InteractionModule::strand(const char* attentions, const char* norms,
                                                    const InteractionOptions& options, c10::Device device) {
  Strand made;
  torch::nn::ModuleList attention_list, norm_list;
  for (int64_t i = 0; i < options.layers; ++i) {
    made.attentions.push_back(std::make_shared<nn::MultiheadAttention>(
        options.width, options.heads, options.attention_dropout, text("sim.", attentions, ".", i), device));
    made.norms.push_back(std::make_shared<nn::LayerNorm>(options.width, device));
    attention_list->push_back(made.attentions.back());
    norm_list->push_back(made.norms.back());
  }
  register_module(attentions, attention_list);
  register_module(norms, norm_list);
  return made;
}

at::Tensor InteractionModule::Strand::attend(std::size_t layer, const at::Tensor& tokens,
                                             const at::Tensor& context, const at::Tensor& seen) const {
  const at::Tensor mixed = nn::run_block(attentions[layer], tokens, context, seen);
  return nn::run_block(norms[layer], tokens + mixed);
}

InteractionModule::InteractionModule(const InteractionOptions& options, c10::Device device)
    : visual_(strand("visual_to_text", "visual_norms", options, device)),
      text_(strand("text_to_visual", "text_norms", options, device)),
      scene_(strand("scene_to_text", "scene_norms", options, device)),
      ffn_(register_module("ffn", std::make_shared<nn::TwoLayers>(
                                      nn::TwoLayers::Shape{.in = options.width,
                                                           .hidden = options.intermediate,
                                                           .out = options.width,
                                                           .between = nn::TwoLayers::Between::gelu},
                                      options.dropout, "sim.ffn", device))),
      ffn_norm_(register_module("ffn_norm", std::make_shared<nn::LayerNorm>(options.width, device))) {}

Interaction InteractionModule::forward(const at::Tensor& visual, const at::Tensor& text,
                                       const at::Tensor& scene, const at::Tensor& objects_mask,
                                       const at::Tensor& tokens_mask) {
  Interaction now{.visual = visual, .text = text, .scene = scene, .fused = {}};
  for (std::size_t layer = 0; layer < visual_.norms.size(); ++layer) {
    now.visual = visual_.attend(layer, now.visual, now.text, tokens_mask);
    now.text = text_.attend(layer, now.text, now.visual, objects_mask);
    now.scene = scene_.attend(layer, now.scene, now.text, tokens_mask);
  }
  const at::Tensor sum = masked_mean(now.visual, objects_mask) + masked_mean(now.text, tokens_mask) +
                         masked_mean(now.scene, objects_mask);
  now.fused = nn::run_block(ffn_norm_, sum + nn::run_block(ffn_, sum));
  return now;
}

at::Tensor InteractionModule::object_weights(const at::Tensor& visual, const at::Tensor& text,
                                             const at::Tensor& objects_mask,
                                             const at::Tensor& tokens_mask) const {
  at::Tensor seen = visual, asked = text;
  const std::size_t last = text_.attentions.size() - 1;
  for (std::size_t layer = 0;; ++layer) {
    seen = visual_.attend(layer, seen, asked, tokens_mask);
    if (layer == last) break;
    asked = text_.attend(layer, asked, seen, objects_mask);
  }
  return masked_mean(text_.attentions[last]->weights(asked, seen, objects_mask), tokens_mask);
}

}  // namespace larmor::xray_vqa
