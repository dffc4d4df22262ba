#include "workloads/xray_vqa/training/encoder_weights.h"

#include <map>
#include <string>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/device/module_state.h"

namespace larmor::xray_vqa {
namespace {

VqaConfig small_config() {
  VqaConfig config;
  config.convnext_size = "custom";
  config.depths = {1, 2};
  config.dims = {4, 8};
  config.network.bert.num_hidden_layers = 2;
  config.network.bert.num_attention_heads = 2;
  config.network.bert.intermediate_size = 8;
  config.network.bert.max_position_embeddings = 16;
  config.network.interaction = {.width = 8, .heads = 2, .intermediate = 8, .layers = 1};
  return config;
}

/// A classifier of timm with convolutions of one pixel, and a file of transformers with its prefix and the
/// names of old times.
NamedTensors timm_file(const VqaConfig& config) {
  auto options = config.options(20).convnext;
  options.form = nn::ConvNextForm::classifier;
  NamedTensors file = state_dict(*nn::ConvNext(options));
  for (auto& [name, tensor] : file) {
    tensor = at::rand_like(tensor);
    if (name.find("mlp.fc") != std::string::npos && tensor.dim() == 2)
      tensor = tensor.unsqueeze(-1).unsqueeze(-1);
  }
  return file;
}

NamedTensors transformers_file(const VqaConfig& config, int64_t words) {
  NamedTensors file;
  for (const auto& [name, tensor] : state_dict(*nn::Bert(config.options(words).bert))) {
    std::string old = "bert." + name;
    const auto at = old.find("LayerNorm.weight");
    if (at != std::string::npos) old.replace(at, std::string::npos, "LayerNorm.gamma");
    file[old] = at::rand_like(tensor);
  }
  file["cls.predictions.bias"] = at::rand({words});
  return file;
}

TEST(EncoderWeights, AreTakenFromTimmAndTransformersWhateverTheirNames) {
  const VqaConfig config = small_config();
  VqaNetwork network(config.options(20));
  const auto image = timm_file(config);
  EXPECT_TRUE(start_image_encoder(*network, image, "timm").not_in_file.empty());
  const auto words = transformers_file(config, 20);
  EXPECT_TRUE(start_text_encoder(*network, words, "transformers").not_in_file.empty());
  const auto weights = state_dict(*network);
  EXPECT_TRUE(at::equal(weights.at("visual_encoder.backbone.stages_1.blocks.1.mlp.fc1.weight"),
                        image.at("stages.1.blocks.1.mlp.fc1.weight").flatten(1)));
  EXPECT_TRUE(at::equal(weights.at("visual_encoder.backbone.stem_0.weight"), image.at("stem.0.weight")));
  EXPECT_TRUE(at::equal(weights.at("text_encoder.encoder.encoder.layer.1.output.LayerNorm.weight"),
                        words.at("bert.encoder.layer.1.output.LayerNorm.gamma")));
}

/// What is said when it is refused, with its hint; empty where it is taken.
template <class Start>
std::string refusal_of(const Start& start) {
  try {
    start();
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    return error.message() + " | " + error.hint();
  }
}

TEST(EncoderWeights, MayBeOfHalfPrecisionWithBuffersAndWithoutAPooler) {
  const VqaConfig config = small_config();
  VqaNetwork network(config.options(20));
  NamedTensors words = transformers_file(config, 20);
  std::erase_if(words, [](const auto& item) { return item.first.starts_with("bert.pooler."); });
  for (auto& [name, tensor] : words) tensor = tensor.to(at::kHalf);
  words["bert.embeddings.position_ids"] = at::arange(16).unsqueeze(0);
  const StartReport report = start_text_encoder(*network, words, "masked");
  EXPECT_TRUE(report.not_in_network.empty());
  EXPECT_EQ(report.not_in_file.size(), 2U);
  NamedTensors image = timm_file(config);
  for (auto& [name, tensor] : image) tensor = tensor.to(at::kBFloat16);
  EXPECT_TRUE(start_image_encoder(*network, image, "half").not_in_file.empty());
  const auto weights = state_dict(*network);
  const at::Tensor taken = weights.at("text_encoder.encoder.embeddings.word_embeddings.weight");
  EXPECT_EQ(taken.scalar_type(), at::kFloat);
  EXPECT_TRUE(taken.equal(words.at("bert.embeddings.word_embeddings.weight").to(at::kFloat)));
  EXPECT_TRUE(
      weights.at("visual_encoder.backbone.stem_1.bias").equal(image.at("stem.1.bias").to(at::kFloat)));
}

TEST(EncoderWeights, AreRefusedWhereALayerIsMissingOrOfAnotherWidth) {
  const VqaConfig config = small_config();
  VqaNetwork network(config.options(20));
  VqaConfig other = config;
  other.depths = {1, 1};
  other.network.bert.num_hidden_layers = 1;
  const std::string block = refusal_of([&] { start_image_encoder(*network, timm_file(other), "short"); });
  EXPECT_NE(block.find("stages_1.blocks.1.conv_dw.bias"), std::string::npos) << block;
  EXPECT_NE(block.find("model.convnext.size"), std::string::npos) << block;
  const std::string layer =
      refusal_of([&] { start_text_encoder(*network, transformers_file(other, 20), "s"); });
  EXPECT_NE(layer.find("encoder.layer.1.attention"), std::string::npos) << layer;
  EXPECT_NE(layer.find("model.bert.layers"), std::string::npos) << layer;
  other = config;
  other.dims = {4, 16};
  other.network.bert.intermediate_size = 16;
  const std::string channels = refusal_of([&] { start_image_encoder(*network, timm_file(other), "wide"); });
  EXPECT_NE(channels.find("[16, 1, 7, 7] there and [8, 1, 7, 7] here"), std::string::npos) << channels;
  const std::string width =
      refusal_of([&] { start_text_encoder(*network, transformers_file(other, 20), "w"); });
  EXPECT_NE(width.find("model.bert.intermediate"), std::string::npos) << width;
}

TEST(EncoderWeights, AreRefusedWhereTheVocabularyIsAnother) {
  const VqaConfig config = small_config();
  VqaNetwork network(config.options(20));
  try {
    start_text_encoder(*network, transformers_file(config, 30), "transformers");
    FAIL() << "thirty words in the place of twenty";
  } catch (const Error& error) {
    EXPECT_NE(error.hint().find("20 words and the weights 30"), std::string::npos) << error.hint();
  }
  VqaConfig plain = config;
  plain.network.text_encoder = TextEncoder::plain;
  VqaNetwork other(plain.options(20));
  EXPECT_THROW(start_text_encoder(*other, transformers_file(config, 20), "transformers"), Error);
}

TEST(EncoderWeights, LearnMoreSlowlyTheDeeperTheyLie) {
  VqaConfig config = small_config();
  VqaNetwork network(config.options(20));
  EXPECT_TRUE(rules_of(*network, config).empty());
  config.encoder_rate = 0.5;
  config.layer_decay = 0.1;
  std::map<std::string, double> rates;
  for (const ParameterRule& rule : rules_of(*network, config)) rates[rule.prefix] = rule.rate;
  EXPECT_FALSE(rates.contains("visual_proj.weight"));
  EXPECT_FALSE(rates.contains("text_encoder.encoder.pooler.dense.weight")) << "it does not learn";
  EXPECT_NEAR(rates.at("visual_encoder.backbone.stages_1.blocks.1.gamma"), 0.5, 1e-12);
  EXPECT_NEAR(rates.at("visual_encoder.backbone.stages_1.blocks.0.gamma"), 0.05, 1e-12);
  EXPECT_NEAR(rates.at("visual_encoder.backbone.stages_0.blocks.0.gamma"), 0.005, 1e-12);
  EXPECT_NEAR(rates.at("visual_encoder.backbone.stem_0.weight"), 0.0005, 1e-12);
  EXPECT_NEAR(rates.at("text_encoder.encoder.encoder.layer.1.output.dense.weight"), 0.5, 1e-12);
  EXPECT_NEAR(rates.at("text_encoder.encoder.embeddings.LayerNorm.bias"), 0.005, 1e-12);
}

TEST(EncoderWeights, AreKeptFromDecayWhereTheyAreNoMatrices) {
  VqaConfig config = small_config();
  config.decays_all = false;
  VqaNetwork network(config.options(20));
  std::map<std::string, std::optional<double>> decays;
  for (const ParameterRule& rule : rules_of(*network, config)) decays[rule.prefix] = rule.weight_decay;
  EXPECT_EQ(decays.at("sim.ffn.0.bias"), 0.0);
  EXPECT_EQ(decays.at("scene_encoder.region_embedding.weight"), 0.0);
  EXPECT_FALSE(decays.contains("sim.ffn.0.weight"));
}

}  // namespace
}  // namespace larmor::xray_vqa
