#include "larmor/nn/networks/convnext/convnext.h"

#include <set>
#include <string>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/device/autocast.h"
#include "larmor/device/draw_position.h"
#include "larmor/device/module_state.h"
#include "larmor/device/run_block.h"

#include "tests/nn/support/golden.h"
#include "tests/support/card/device_of_tests.h"

namespace larmor::nn {
namespace {

using testing::Golden;

ConvNextOptions convnext_of_the_golden(ConvNextForm form) {
  ConvNextOptions options;
  options.depths = {1, 1, 2, 1};
  options.dims = {16, 32, 64, 128};
  options.num_classes = 10;
  options.form = form;
  return options;
}

/// The golden file's weights, which have a classifier's names, in either form.
void load_convnext(ConvNext& network, const Golden& golden, at::ScalarType type) {
  network->to(testing::device_of_tests(), type);
  NamedTensors weights;
  for (const auto& [key, tensor] : golden.under("weight/")) {
    std::string name = key;
    if (network->options().form == ConvNextForm::features) {
      if (name.starts_with("head.")) continue;
      name[name.find('.')] = '_';
    }
    weights[name] = tensor;
  }
  load_state_dict(*network, weights);
}

void expect_golden_convnext(const Golden& golden, ConvNextForm form, const std::string& output,
                            const std::string& target) {
  ConvNext exact(convnext_of_the_golden(form)), single(convnext_of_the_golden(form));
  load_convnext(exact, golden, at::kDouble);
  load_convnext(single, golden, at::kFloat);
  const auto run = [&](ConvNext& network, at::ScalarType type) {
    const at::Tensor image = golden.at("input/x").to(type);
    const at::Tensor out =
        form == ConvNextForm::features ? network->features(image) : network->forward(image);
    const at::Tensor loss = at::mse_loss(out, golden.at(target).to(type));
    loss.backward();
    return std::pair(out, loss);
  };
  const auto [out, loss] = run(exact, at::kDouble);
  const auto in_float32 = run(single, at::kFloat);
  testing::expect_golden_output(golden, output, out, in_float32.first);
  EXPECT_LE(testing::relative_l2(loss, golden.at("loss/mse")), 1e-9);
  testing::expect_golden_gradients(*exact, golden);
  testing::expect_golden_float32_error(*single, *exact, golden);
}

TEST(ConvNextGolden, GivesTheMapsAndGradientsOfTheFeaturesNetwork) {
  const auto golden = Golden::shared("convnext_small_custom");
  if (!golden) GTEST_SKIP() << "convnext_small_custom is not on this machine";
  const Golden run = golden->run("features/");
  expect_golden_convnext(run, ConvNextForm::features, "out/last_map", "input/target_features");
  ConvNext network(convnext_of_the_golden(ConvNextForm::features));
  load_convnext(network, *golden, at::kDouble);
  const auto maps = network->maps(golden->at("input/x").to(at::kDouble));
  ASSERT_EQ(maps.size(), 4U);
  EXPECT_LE(testing::relative_l2(maps[0], run.at("out/map_0")), 1e-6);
}

TEST(ConvNextGolden, GivesTheLogitsAndGradientsOfTheClassifier) {
  const auto golden = Golden::shared("convnext_small_custom");
  if (!golden) GTEST_SKIP() << "convnext_small_custom is not on this machine";
  expect_golden_convnext(golden->run("classifier/"), ConvNextForm::classifier, "out/logits",
                         "input/target_logits");
}

TEST(ConvNext, HasAsManyParametersAsTheReference) {
  EXPECT_EQ(parameter_count(*ConvNext(ConvNextOptions(), at::kMeta)), 87'564'416);
  ConvNextOptions tiny = ConvNextOptions::of_size("tiny");
  tiny.form = ConvNextForm::classifier;
  EXPECT_EQ(parameter_count(*ConvNext(tiny, at::kMeta)), 28'589'128);
}

TEST(ConvNext, NamesItsWeightsAsTimmInBothForms) {
  const auto names_of = [](ConvNextForm form) {
    std::set<std::string> names;
    for (const auto& [name, tensor] : state_dict(*ConvNext(convnext_of_the_golden(form), at::kMeta)))
      names.insert(name);
    return names;
  };
  const auto features = names_of(ConvNextForm::features), classifier = names_of(ConvNextForm::classifier);
  for (const char* name : {"stem_0.weight", "stem_1.bias", "stages_1.downsample.0.weight",
                           "stages_2.blocks.1.mlp.fc2.bias", "stages_3.blocks.0.gamma"})
    EXPECT_TRUE(features.contains(name)) << name;
  for (const char* name :
       {"stem.0.weight", "stages.2.blocks.1.conv_dw.weight", "head.norm.weight", "head.fc.bias"})
    EXPECT_TRUE(classifier.contains(name)) << name;
  EXPECT_EQ(classifier.size(), features.size() + 4);
}

/// Output and gradients of a pass in which examples may pass by blocks.
std::vector<at::Tensor> drop_path_pass(Recompute recompute) {
  ConvNextOptions options;
  options.depths = {1, 2};
  options.dims = {4, 8};
  options.drop_path_rate = 0.5;
  options.layer_scale = 1;
  ConvNext network(options);
  network->to(at::kDouble);
  testing::rule_fill(*network);
  const DrawScope draws({.seed = 3, .epochs = {0, 0, 0}, .examples = {4, 9, 11}});
  const RecomputeScope scope(recompute);
  const at::Tensor image = testing::rule_input("input", {3, 3, 16, 24}, -1, 1);
  const at::Tensor out = network->features(image);
  (out * testing::rule_input("weights", out.sizes(), -1, 1)).sum().backward();
  std::vector<at::Tensor> all{out.detach()};
  for (const at::Tensor& parameter : network->parameters()) all.push_back(parameter.grad());
  network->eval();
  EXPECT_GT(testing::largest_difference(network->features(image), out), 1e-3);
  return all;
}

TEST(ConvNext, GivesTheSameGradientsWhenBlocksAreComputedAgain) {
  const auto kept = drop_path_pass(Recompute::none);
  for (const Recompute recompute : {Recompute::blocks, Recompute::all}) {
    const auto again = drop_path_pass(recompute);
    ASSERT_EQ(again.size(), kept.size());
    for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_TRUE(at::equal(again[i], kept[i])) << i;
  }
}

// Maps of the last stages are no longer than the kernel of 7, where 3-D convolutions have wrong gradients
// (docs/decisions/0016).
TEST(ConvNext, HasTheRightGradientsWhereMapsAreShorterThanTheKernel) {
  for (const int64_t side : {8, 16, 24, 40, 56}) {
    ConvNextOptions options;
    options.depths = {1, 1};
    options.dims = {16, 32};
    options.layer_scale = 1;
    const at::Tensor image = testing::rule_input("picture", {2, 3, side, side + 8}, -1, 1);
    const auto gradients_in = [&](at::ScalarType type, Precision precision) {
      ConvNext network(options);
      network->to(at::kFloat);
      testing::rule_fill(*network);
      network->to(type);
      const at::Tensor dirt = at::full({1 << 20}, 1e30);
      at::Tensor out;
      {
        const AutocastScope scope(c10::kCPU, precision);
        out = network->features(image.to(type)).to(type);
      }
      (out * testing::rule_input("weights", out.sizes(), -1, 1).to(type)).sum().backward();
      std::vector<at::Tensor> all;
      for (const at::Tensor& parameter : network->parameters()) all.push_back(parameter.grad());
      return all;
    };
    const auto exact = gradients_in(at::kDouble, Precision::fp64);
    const auto single = gradients_in(at::kFloat, Precision::fp32);
    const auto half = gradients_in(at::kFloat, Precision::bf16);
    for (std::size_t i = 0; i < exact.size(); ++i) {
      EXPECT_LE(testing::relative_l2(single[i], exact[i]), 1e-4) << side << " " << i;
      EXPECT_LE(testing::relative_l2(half[i], exact[i]), 0.1) << side << " " << i;
    }
  }
}

TEST(ConvNext, RefusesWhatDoesNotFit) {
  EXPECT_THROW(ConvNextOptions::of_size("huge"), Error);
  ConvNextOptions options = convnext_of_the_golden(ConvNextForm::features);
  ConvNext network(options);
  EXPECT_THROW(network->features(at::zeros({1, 1, 32, 32})), Error);
  EXPECT_THROW(network->features(at::zeros({1, 3, 32, 16})), Error);
  options.dims.pop_back();
  EXPECT_THROW(options.check(), Error);
}

}  // namespace
}  // namespace larmor::nn
