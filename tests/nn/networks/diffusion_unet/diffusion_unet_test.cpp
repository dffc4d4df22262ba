#include "larmor/nn/networks/diffusion_unet/diffusion_unet.h"

#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/device/module_state.h"
#include "larmor/device/run_block.h"

#include "tests/nn/support/golden.h"

namespace larmor::nn {
namespace {

DiffusionUnetOptions guide_options(int64_t in, int64_t out, std::vector<int64_t> channels) {
  DiffusionUnetOptions options;
  options.in_channels = in;
  options.out_channels = out;
  options.channels = std::move(channels);
  return options;
}

DiffusionUnetOptions stable_options() {
  DiffusionUnetOptions options = guide_options(16, 8, {128, 256, 512});
  options.num_res_blocks = {1};
  options.attention_levels = {false, false, true};
  options.num_head_channels = {0, 0, 32};
  return options;
}

DiffusionUnetOptions three_small_levels() {
  DiffusionUnetOptions options = guide_options(4, 4, {32, 64, 64});
  options.num_head_channels = {0, 32, 32};
  return options;
}

DiffusionUnetOptions tiny_options() {
  DiffusionUnetOptions options = guide_options(2, 1, {4, 8});
  options.num_res_blocks = {1};
  options.attention_levels = {false, true};
  options.num_head_channels = {4};
  options.norm_num_groups = 2;
  return options;
}

DiffusionUnetOptions tiny_with_context() {
  DiffusionUnetOptions options = tiny_options();
  options.with_conditioning = true;
  options.cross_attention_dim = 3;
  return options;
}

DiffusionUnet filled(const DiffusionUnetOptions& options) {
  DiffusionUnet network(options);
  network->to(at::kDouble);
  testing::rule_fill(*network);
  return network;
}

int64_t parameters_of(const DiffusionUnetOptions& options) {
  return parameter_count(*DiffusionUnet(options, c10::kMeta));
}

TEST(DiffusionUnet, HasTheParametersOfTheReferenceConfigurations) {
  EXPECT_EQ(parameters_of(guide_options(8, 8, {256, 256, 512})), 191'230'472);
  EXPECT_EQ(parameters_of(guide_options(32, 16, {256, 512, 1024})), 666'065'936);
  EXPECT_EQ(parameters_of(stable_options()), 115'062'920);
  EXPECT_EQ(parameters_of(three_small_levels()), 4'349'124);
}

TEST(DiffusionUnet, GivesTheCheckValuesOfThreeSmallLevels) {
  DiffusionUnet network = filled(three_small_levels());
  const at::NoGradGuard no_gradient;
  const at::Tensor out = network->forward(testing::rule_input("input", {2, 4, 8, 8, 12}, -1, 1),
                                          at::tensor({0, 999}, at::kLong));
  EXPECT_EQ(out.sizes().vec(), (std::vector<int64_t>{2, 4, 8, 8, 12}));
  testing::expect_check_values(
      out, {-4.597964003541e-02, 4.387995092256e-01, 1.387610804423e-02, -5.711185052146e-01});
}

TEST(DiffusionUnet, BeginsByPredictingNothing) {
  DiffusionUnet network(tiny_options());
  const at::Tensor out = network->forward(at::rand({1, 2, 4, 4, 4}), at::tensor({5}, at::kLong));
  EXPECT_EQ(out.abs().max().item<double>(), 0);
}

TEST(DiffusionUnet, HeedsItsContextTokenByToken) {
  DiffusionUnet network = filled(tiny_with_context());
  const at::NoGradGuard no_gradient;
  const at::Tensor noisy = testing::rule_input("input", {2, 2, 4, 4, 4}, -1, 1),
                   times = at::tensor({3, 800}, at::kLong),
                   context = testing::rule_input("context", {2, 5, 3}, -1, 1);
  const at::Tensor out = network->forward(noisy, times, context);
  at::Tensor other = context.clone();
  other[1][4] += 1;
  const at::Tensor changed = network->forward(noisy, times, other);
  EXPECT_TRUE(at::equal(out[0], changed[0]));
  EXPECT_GT(testing::largest_difference(out[1], changed[1]), 1e-6);
  // Attention is a set's: the order of tokens is of no matter.
  EXPECT_LE(testing::largest_difference(out, network->forward(noisy, times, context.flip(1))), 1e-12);
}

/// Output and gradients of a pass under `recompute`.
std::vector<at::Tensor> pass_with(Recompute recompute, const DiffusionUnetOptions& options,
                                  const at::Tensor& context) {
  DiffusionUnet network = filled(options);
  const RecomputeScope scope(recompute);
  const at::Tensor noisy = testing::rule_input("input", {2, 2, 4, 8, 4}, -1, 1);
  const at::Tensor out = network->forward(noisy, at::tensor({3, 800}, at::kLong), context);
  (out * testing::rule_input("weights", out.sizes(), -1, 1)).sum().backward();
  std::vector<at::Tensor> all{out.detach()};
  for (const at::Tensor& parameter : network->parameters()) all.push_back(parameter.grad());
  return all;
}

TEST(DiffusionUnet, GivesTheSameGradientsWhenBlocksAreComputedAgain) {
  const at::Tensor context = testing::rule_input("context", {2, 5, 3}, -1, 1);
  DiffusionUnetOptions updown = tiny_options();
  updown.resblock_updown = true;
  for (const auto& [options, its_context] :
       {std::pair{updown, at::Tensor()}, {tiny_with_context(), context}}) {
    const auto kept = pass_with(Recompute::none, options, its_context);
    for (const Recompute recompute : {Recompute::blocks, Recompute::all}) {
      const auto again = pass_with(recompute, options, its_context);
      ASSERT_EQ(again.size(), kept.size());
      for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_TRUE(at::equal(again[i], kept[i])) << i;
    }
  }
}

TEST(DiffusionUnet, RefusesInputsThatItCannotHalveOrThatHaveOtherChannels) {
  DiffusionUnet network(tiny_options());
  const at::Tensor times = at::tensor({1}, at::kLong);
  EXPECT_THROW(network->forward(at::zeros({1, 2, 4, 4, 5}), times), Error);
  EXPECT_THROW(network->forward(at::zeros({1, 3, 4, 4, 4}), times), Error);
  EXPECT_THROW(network->forward(at::zeros({2, 4, 4, 4}), times), Error);
  EXPECT_THROW(network->forward(at::zeros({1, 2, 4, 4, 4}), times, at::zeros({1, 5, 3})), Error);
  DiffusionUnet conditioned(tiny_with_context());
  EXPECT_THROW(conditioned->forward(at::zeros({1, 2, 4, 4, 4}), times), Error);
  EXPECT_THROW(conditioned->forward(at::zeros({1, 2, 4, 4, 4}), times, at::zeros({1, 5, 4})), Error);
}

TEST(DiffusionUnetOptions, RefuseWhatMakesNoNetworkAndNameTheKey) {
  const auto refuses = [](void (*spoil)(DiffusionUnetOptions&), const std::string& key) {
    DiffusionUnetOptions options = three_small_levels();
    EXPECT_NO_THROW(options.check());
    spoil(options);
    try {
      options.check();
      ADD_FAILURE() << key << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::usage);
      EXPECT_NE(error.message().find(key), std::string::npos) << error.message();
      EXPECT_FALSE(error.hint().empty());
    }
  };
  refuses([](DiffusionUnetOptions& o) { o.channels.clear(); }, "model.channels");
  refuses([](DiffusionUnetOptions& o) { o.attention_levels.pop_back(); }, "model.attention_levels");
  refuses([](DiffusionUnetOptions& o) { o.num_res_blocks = {1, 2}; }, "model.num_res_blocks");
  refuses([](DiffusionUnetOptions& o) { o.num_res_blocks = {0}; }, "model.num_res_blocks");
  refuses([](DiffusionUnetOptions& o) { o.num_head_channels = {0, 0, 32}; }, "model.num_head_channels");
  refuses([](DiffusionUnetOptions& o) { o.num_head_channels = {0, 32, 48}; }, "model.num_head_channels");
  refuses([](DiffusionUnetOptions& o) { o.norm_num_groups = 24; }, "model.norm_num_groups");
  refuses([](DiffusionUnetOptions& o) { o.out_channels = 0; }, "model.out_channels");
  refuses([](DiffusionUnetOptions& o) { o.spatial_dims = 2; }, "model.spatial_dims");
  refuses([](DiffusionUnetOptions& o) { o.with_conditioning = true; }, "model.cross_attention_dim");
  refuses([](DiffusionUnetOptions& o) { o.cross_attention_dim = 8; }, "model.with_conditioning");
}

}  // namespace
}  // namespace larmor::nn
