#include "workloads/xray_vqa/network/vqa_network.h"

#include <string>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/device/draw_position.h"
#include "larmor/device/initialisation.h"
#include "larmor/device/module_state.h"
#include "larmor/device/run_block.h"

#include "workloads/xray_vqa/network/vqa_loss.h"

#include "tests/nn/support/golden.h"

namespace larmor::xray_vqa {
namespace {

using testing::Golden;

VqaOptions parts_of_the_default() {
  VqaOptions options;
  options.image_encoder = ImageEncoder::none;
  options.text_encoder = TextEncoder::none;
  options.map_channels = 1024;
  return options;
}

VqaOptions parts_of_the_small_golden() {
  VqaOptions options = parts_of_the_default();
  options.map_channels = 40;
  options.interaction = {.width = 48, .heads = 4, .intermediate = 96, .layers = 2};
  options.projection = 32;
  options.embedding = 16;
  options.head_hidden = {32, 64, 64, 16};
  options.labels_hidden = 64;
  return options;
}

VqaOptions tiny_vqa() {
  VqaOptions options = parts_of_the_small_golden();
  options.image_encoder = ImageEncoder::convnext;
  options.text_encoder = TextEncoder::bert;
  options.convnext.depths = {1, 1};
  options.convnext.dims = {4, 8};
  options.bert.vocab_size = 30;
  options.bert.hidden_size = 48;
  options.bert.intermediate_size = 32;
  options.bert.num_hidden_layers = 2;
  options.bert.num_attention_heads = 4;
  return options;
}

VqaInputs golden_inputs(const Golden& golden) {
  return {.image = {},
          .tokens = {},
          .tokens_mask = golden.at("input/text_mask").to(at::kBool),
          .boxes = golden.at("input/boxes"),
          .regions = golden.at("input/region_ids"),
          .entities = golden.at("input/entity_ids"),
          .objects_mask = golden.at("input/object_mask").to(at::kBool)};
}

/// `routes`: for each head the samples of which it is asked.
VqaTargets golden_targets(const Golden& golden, const std::array<std::vector<int64_t>, heads>& routes) {
  VqaTargets targets;
  for (std::size_t i = 0; i < heads; ++i) {
    const at::Tensor answers = golden.at(std::string("input/target_") + head_names[i]);
    targets.answers[i] = at::full_like(answers, -1);
    for (const int64_t row : routes[i]) targets.answers[i][row] = answers[row];
  }
  targets.labels = golden.at("input/chexpert_labels").to(at::kFloat);
  targets.labels_mask = golden.at("input/chexpert_mask").to(at::kBool);
  return targets;
}

struct GoldenPass {
  VqaOutputs outputs;
  VqaLoss loss;
};

GoldenPass pass_golden(VqaNetwork& network, const Golden& golden, const VqaTargets& targets,
                       at::ScalarType type) {
  network->eval();
  GoldenPass pass;
  pass.outputs = network->answer(golden.at("input/map").to(type), golden.at("input/text").to(type),
                                 golden_inputs(golden));
  pass.loss = vqa_loss(pass.outputs, targets, counts_of(targets), {});
  pass.loss.total.backward();
  return pass;
}

void expect_golden_parts(const Golden& golden, const VqaOptions& options,
                         const std::array<std::vector<int64_t>, heads>& routes) {
  VqaNetwork exact(options), single(options);
  const auto fill = [&](VqaNetwork& network, at::ScalarType type) {
    if (golden.under("weight/").empty()) {
      testing::rule_fill_as(*network, golden, type);
    } else {
      golden.load_weights(*network, type);
    }
  };
  fill(exact, at::kDouble);
  fill(single, at::kFloat);
  const VqaTargets targets = golden_targets(golden, routes);
  const GoldenPass pass = pass_golden(exact, golden, targets, at::kDouble);
  const GoldenPass in_float32 = pass_golden(single, golden, targets, at::kFloat);
  const auto expect = [&](const std::string& key, const at::Tensor& one, const at::Tensor& other) {
    testing::expect_golden_output(golden, "out/" + key, one, other);
  };
  expect("regions", pass.outputs.regions, in_float32.outputs.regions);
  expect("scene", pass.outputs.scene, in_float32.outputs.scene);
  expect("sim_visual", pass.outputs.interaction.visual, in_float32.outputs.interaction.visual);
  expect("sim_text", pass.outputs.interaction.text, in_float32.outputs.interaction.text);
  expect("sim_scene", pass.outputs.interaction.scene, in_float32.outputs.interaction.scene);
  expect("sim", pass.outputs.interaction.fused, in_float32.outputs.interaction.fused);
  expect("chexpert", pass.outputs.labels, in_float32.outputs.labels);
  const at::Tensor counts = counts_of(targets);
  for (std::size_t i = 0; i < heads; ++i) {
    expect(head_names[i], pass.outputs.answers[i], in_float32.outputs.answers[i]);
    const std::string key = std::string("loss/") + head_names[i];
    const auto count = counts[static_cast<int64_t>(i)].item<double>();
    EXPECT_EQ(golden.has(key), count > 0) << key;
    if (count > 0) {
      EXPECT_LE(testing::relative_l2(pass.loss.answers[i] / count, golden.at(key)), 1e-9) << key;
    }
  }
  EXPECT_LE(testing::relative_l2(pass.loss.vqa, golden.at("loss/vqa")), 1e-9);
  EXPECT_LE(testing::relative_l2(pass.loss.total, golden.at("loss/total")), 1e-9);
  EXPECT_LE(testing::largest_difference(in_float32.loss.total, pass.loss.total),
            golden.allowed_in_float32("loss/total"));
  testing::expect_golden_gradients(*exact, golden);
  testing::expect_golden_float32_error(*single, *exact, golden);
}

TEST(VqaNetworkGolden, EqualsTheReferenceBehindSmallEncoders) {
  const auto golden = Golden::shared("vqa_parts_small");
  if (!golden) GTEST_SKIP() << "vqa_parts_small is not on this machine";
  expect_golden_parts(*golden, parts_of_the_small_golden(), {{{0, 1}, {1, 2}, {0}, {}}});
}

TEST(VqaNetworkGolden, EqualsTheReferenceAtTheDefaultSizes) {
  const auto golden = Golden::shared("vqa_parts");
  if (!golden) GTEST_SKIP() << "vqa_parts is not on this machine";
  expect_golden_parts(*golden, parts_of_the_default(), {{{0, 3}, {1}, {2}, {3}}});
}

TEST(VqaNetwork, HasAsManyParametersAsTheReference) {
  EXPECT_EQ(parameter_count(*VqaNetwork(VqaOptions(), at::kMeta)), 217'354'492);
  VqaOptions fallback;
  fallback.image_encoder = ImageEncoder::plain;
  fallback.text_encoder = TextEncoder::plain;
  fallback.bert.vocab_size = 30522;
  EXPECT_EQ(parameter_count(*VqaNetwork(fallback, at::kMeta)), 49'542'652);
}

TEST(VqaNetwork, NamesItsWeightsAsTheReference) {
  const auto weights = state_dict(*VqaNetwork(VqaOptions(), at::kMeta));
  for (const char* name :
       {"visual_encoder.backbone.stem_0.weight", "visual_encoder.backbone.stages_3.blocks.2.mlp.fc2.bias",
        "visual_encoder.projection.2.weight", "visual_encoder.projection.3.bias",
        "text_encoder.encoder.embeddings.word_embeddings.weight",
        "text_encoder.encoder.encoder.layer.11.output.dense.weight", "text_encoder.encoder.pooler.dense.bias",
        "scene_encoder.region_embedding.weight", "scene_encoder.entity_proj.1.weight", "visual_proj.weight",
        "scene_proj.bias", "sim.visual_to_text.1.in_proj_weight", "sim.scene_to_text.0.out_proj.bias",
        "sim.text_norms.1.weight", "sim.ffn.3.weight", "sim.ffn_norm.bias",
        "answer_module.severity_head.3.weight", "chexpert_head.classifier.0.weight"})
    EXPECT_TRUE(weights.contains(name)) << name;
  VqaOptions fallback;
  fallback.image_encoder = ImageEncoder::plain;
  fallback.text_encoder = TextEncoder::plain;
  const auto plain = state_dict(*VqaNetwork(fallback, at::kMeta));
  for (const char* name : {"visual_encoder.backbone.8.weight", "visual_encoder.backbone.9.running_var",
                           "text_encoder.embedding.weight", "text_encoder.lstm.weight_hh_l0_reverse"})
    EXPECT_TRUE(plain.contains(name)) << name;
}

VqaInputs tiny_inputs() {
  at::Tensor objects = at::ones({3, 2}, at::kBool), tokens = at::ones({3, 6}, at::kBool);
  objects[1][1] = false;
  objects[2].fill_(false);
  tokens[0].narrow(0, 4, 2).fill_(false);
  return {
      .image = testing::rule_input("image", {3, 3, 32, 40}, -1, 1).to(at::kFloat),
      .tokens = at::arange(18).view({3, 6}),
      .tokens_mask = tokens,
      .boxes =
          at::tensor({0.1, 0.2, 0.6, 0.9, 0.0, 0.0, 1.0, 1.0}, at::kFloat).view({1, 2, 4}).repeat({3, 1, 1}),
      .regions = at::arange(6).view({3, 2}),
      .entities = at::arange(6).view({3, 2}),
      .objects_mask = objects};
}

std::vector<at::Tensor> vqa_dropout_pass(Recompute recompute) {
  VqaOptions options = tiny_vqa();
  options.interaction.attention_dropout = 0.2;
  options.convnext.layer_scale = 1;
  VqaNetwork network(options);
  testing::rule_fill(*network);
  const DrawScope draws({.seed = 3, .epochs = {0, 0, 0}, .examples = {4, 9, 11}});
  const RecomputeScope scope(recompute);
  const VqaOutputs outputs = network->forward(tiny_inputs());
  (outputs.interaction.fused.square().sum() + outputs.labels.square().sum()).backward();
  std::vector<at::Tensor> all{outputs.interaction.fused.detach()};
  for (const at::Tensor& parameter : network->parameters()) {
    if (parameter.grad().defined()) all.push_back(parameter.grad());
  }
  return all;
}

TEST(VqaNetwork, GivesTheSameGradientsWhenBothEncodersAreComputedAgain) {
  const auto kept = vqa_dropout_pass(Recompute::none);
  for (const Recompute recompute : {Recompute::blocks, Recompute::all}) {
    const auto again = vqa_dropout_pass(recompute);
    ASSERT_EQ(again.size(), kept.size());
    for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_TRUE(at::equal(again[i], kept[i])) << i;
  }
}

// In float64, whose rounding is far below what another example or a padded word would add, on any CPU.
TEST(VqaNetwork, DoesNotMixExamplesAndDoesNotLookAtPadding) {
  VqaNetwork network(tiny_vqa());
  network->to(at::kDouble);
  network->eval();
  const at::NoGradGuard no_gradient;
  VqaInputs all = tiny_inputs();
  all.image = all.image.to(at::kDouble);
  all.boxes = all.boxes.to(at::kDouble);
  const VqaOutputs together = network->forward(all);
  for (int64_t row = 0; row < 3; ++row) {
    const auto one = [row](const at::Tensor& tensor) { return tensor.narrow(0, row, 1); };
    VqaInputs alone{one(all.image),   one(all.tokens),   one(all.tokens_mask), one(all.boxes),
                    one(all.regions), one(all.entities), one(all.objects_mask)};
    // What stands behind the end of the lists is another thing, and nobody notices.
    alone.tokens = at::where(alone.tokens_mask, alone.tokens, 29);
    alone.entities = at::where(alone.objects_mask, alone.entities, 200);
    const VqaOutputs outputs = network->forward(alone);
    for (std::size_t i = 0; i < heads; ++i)
      EXPECT_LE(testing::largest_difference(outputs.answers[i], one(together.answers[i])), 1e-11) << row;
    EXPECT_LE(testing::largest_difference(outputs.labels, one(together.labels)), 1e-11) << row;
  }
}

TEST(VqaNetwork, DrawsNothingOnTheMetaDevice) {
  const uint64_t before = default_generator_fingerprint();
  for (const auto encoder : {ImageEncoder::convnext, ImageEncoder::plain}) {
    VqaOptions options = tiny_vqa();
    options.image_encoder = encoder;
    if (encoder == ImageEncoder::plain) options.text_encoder = TextEncoder::plain;
    VqaNetwork(options, at::kMeta);
  }
  EXPECT_EQ(default_generator_fingerprint(), before);
}

TEST(VqaNetwork, RefusesWidthsThatDoNotFit) {
  VqaOptions options = tiny_vqa();
  options.bert.hidden_size = 24;
  EXPECT_THROW(VqaNetwork(options, at::kMeta), Error);
  options = tiny_vqa();
  options.interaction.heads = 5;
  EXPECT_THROW(VqaNetwork(options, at::kMeta), Error);
}

}  // namespace
}  // namespace larmor::xray_vqa
