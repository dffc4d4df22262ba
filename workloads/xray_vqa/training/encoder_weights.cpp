#include "workloads/xray_vqa/training/encoder_weights.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "larmor/base/error.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/device/tensors/weights_file.h"

namespace larmor::xray_vqa {
namespace {

constexpr std::string_view image_prefix = "visual_encoder.backbone.", text_prefix = "text_encoder.";

torch::nn::Module& encoder_to_start(torch::nn::Module* encoder, bool fits, const char* key) {
  if (encoder != nullptr && fits) return *encoder;
  fail(Exit::usage, text("model.", key, " is given, and the encoder is of another kind"),
       "leave it out, or say model.image_encoder=convnext and model.text_encoder=bert");
}

/// The number behind `word` in a name: 3 of "stages_3.blocks.1" behind "stages_".
std::optional<int64_t> number_behind(std::string_view name, std::string_view word) {
  const std::size_t at = name.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  int64_t number = 0;
  const char* const begin = name.data() + at + word.size();
  const auto read = std::from_chars(begin, name.data() + name.size(), number);
  if (read.ec != std::errc()) return std::nullopt;
  return number;
}

/// How many layers of its encoder stand behind a parameter's; nothing for one of no encoder.
std::optional<int64_t> layers_behind(std::string_view name, const VqaOptions& options) {
  if (name.starts_with(image_prefix) && options.image_encoder == ImageEncoder::convnext) {
    int64_t behind = 0, in_stage = 0;
    const auto stage = number_behind(name, "stages_");
    const auto& depths = options.convnext.depths;
    for (std::size_t level = 0; level < depths.size(); ++level) {
      if (!stage || static_cast<int64_t>(level) > *stage) behind += depths[level];
      if (stage && static_cast<int64_t>(level) == *stage)
        in_stage = depths[level] - 1 - number_behind(name, ".blocks.").value_or(0);
    }
    return behind + in_stage;
  }
  if (name.starts_with(text_prefix) && options.text_encoder == TextEncoder::bert)
    return options.bert.num_hidden_layers - 1 - number_behind(name, ".layer.").value_or(-1);
  return std::nullopt;
}

bool is_of_encoder(std::string_view name) {
  return name.starts_with(image_prefix) || name.starts_with(text_prefix);
}

/// Biases, norms, layer scales, embeddings: what weight decay is often kept from.
bool is_no_matrix(std::string_view name, const at::Tensor& parameter) {
  return parameter.dim() < 2 || name.find("embedding") != std::string_view::npos;
}

}  // namespace

StartReport start_image_encoder(VqaNetworkImpl& network, const NamedTensors& tensors,
                                const std::string& source) {
  const bool fits = network.options().image_encoder == ImageEncoder::convnext;
  torch::nn::Module& encoder = encoder_to_start(network.image_encoder(), fits, "image_weights");
  NamedTensors linear;
  for (const auto& [name, tensor] : tensors) {
    // The small sizes of timm have convolutions of one pixel in place of linear layers.
    const bool is_linear = name.find(".mlp.fc") != std::string::npos && tensor.dim() == 4;
    linear.emplace(name, is_linear ? tensor.flatten(1) : tensor);
  }
  return start_from(encoder, linear, source,
                    {.left_behind = {"head.", "norm_pre."},
                     .renames = {{"stem.", "stem_"}, {"stages.", "stages_"}},
                     .needs_all = true,
                     .what_fits = "give the weights of a ConvNeXt under timm's names, and the size of it as "
                                  "model.convnext.size",
                     .shape_hint =
                         [](const NamedTensors&, const NamedTensors&) {
                           return std::string("say model.convnext.size as the weights have it");
                         },
                     .advise = {}});
}

StartReport start_text_encoder(VqaNetworkImpl& network, const NamedTensors& tensors,
                               const std::string& source) {
  const bool fits = network.options().text_encoder == TextEncoder::bert;
  torch::nn::Module& encoder = encoder_to_start(network.text_encoder(), fits, "text_weights");
  const auto hint = [](const NamedTensors& own, const NamedTensors& file) -> std::string {
    constexpr const char* words = "embeddings.word_embeddings.weight";
    const auto ours = own.find(words), theirs = file.find(words);
    if (ours == own.end() || theirs == file.end() || ours->second.size(0) == theirs->second.size(0))
      return "say model.width, model.bert.layers and model.bert.intermediate as the weights have them";
    return text("the vocabulary has ", ours->second.size(0), " words and the weights ",
                theirs->second.size(0), ": give the vocabulary that they were trained with");
  };
  return start_from(
      encoder, tensors, source,
      {.left_behind = {"cls.", "embeddings.position_ids", "embeddings.token_type_ids"},
       .renames = {{"bert.", ""},
                   {"LayerNorm.gamma", "LayerNorm.weight"},
                   {"LayerNorm.beta", "LayerNorm.bias"}},
       .needs_all = true,
       .may_lack = {"pooler."},  // files of masked language models have none
       .what_fits = "give the weights of a BERT under transformers' names, and as many layers as "
                    "it has as model.bert.layers",
       .shape_hint = hint,
       .advise = {}});
}

void start_encoders(VqaNetworkImpl& network, const VqaConfig& config) {
  const auto tell = [](const StartReport& report) {
    for (const std::string& line : lines_of(report)) log::info(line);
  };
  if (!config.image_weights.empty())
    tell(start_image_encoder(network, read_published_weights(config.image_weights), config.image_weights));
  if (!config.text_weights.empty())
    tell(start_text_encoder(network, read_published_weights(config.text_weights), config.text_weights));
}

std::vector<ParameterRule> rules_of(const VqaNetworkImpl& network, const VqaConfig& config) {
  std::vector<ParameterRule> rules;
  for (const auto& item : network.named_parameters()) {
    if (!item.value().requires_grad()) continue;
    ParameterRule rule{.prefix = item.key()};
    if (is_of_encoder(item.key())) {
      const auto behind = layers_behind(item.key(), network.options()).value_or(0);
      rule.rate = config.encoder_rate * std::pow(config.layer_decay, static_cast<double>(behind));
    }
    if (!config.decays_all && is_no_matrix(item.key(), item.value())) rule.weight_decay = 0;
    if (rule.rate != 1 || rule.weight_decay) rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace larmor::xray_vqa
