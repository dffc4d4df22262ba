#include "larmor/nn/networks/fast_ddpm_unet.h"

#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/device/draw_position.h"
#include "larmor/device/module_state.h"
#include "larmor/device/run_block.h"

#include "tests/nn/support/golden.h"
#include "tests/nn/support/golden_unet.h"

namespace larmor::nn {
namespace {

using testing::Golden;

FastDdpmUnetOptions fast_ddpm_options(int64_t ch, std::vector<int64_t> ch_mult, int64_t blocks) {
  FastDdpmUnetOptions options;
  options.ch = ch;
  options.ch_mult = std::move(ch_mult);
  options.num_res_blocks = blocks;
  options.dropout = 0;
  return options;
}

void expect_golden_fast_ddpm(const std::string& name, const FastDdpmUnetOptions& options, int64_t target) {
  const auto golden = Golden::shared(name);
  if (!golden) GTEST_SKIP() << name << " is not on this machine";
  at::Tensor input = golden->at("input/available").clone();
  input.narrow(1, target, 1).copy_(golden->at("input/x_t"));
  // x_t is stored in float32, and the reference computes it in float64 with the schedule of DDPM.
  const at::Tensor betas = at::linspace(1e-4, 0.02, 1000, at::kDouble);
  const at::Tensor signal =
      at::cumprod(1 - betas, 0).to(input.device()).index({golden->at("input/t")}).view({-1, 1, 1, 1, 1});
  const auto noisy = [&](at::ScalarType type) {
    const at::Tensor share = signal.to(type);
    at::Tensor channels = input.to(type);
    channels.narrow(1, target, 1)
        .copy_(share.sqrt() * golden->at("input/target").to(type) +
               (1 - share).sqrt() * golden->at("input/noise").to(type));
    return channels;
  };
  EXPECT_LE(testing::largest_difference(noisy(at::kDouble), input), 1e-6);
  testing::expect_golden_unet<FastDdpmUnet>(
      golden->run("f64/"), golden->at("input/noise"), [&] { return FastDdpmUnet(options); },
      [&](FastDdpmUnet& network, at::ScalarType type) {
        return network->forward(noisy(type), golden->at("input/t"));
      });
}

TEST(FastDdpmUnetGolden, EqualsTheReferenceWithTwoLevels) {
  expect_golden_fast_ddpm("fast_ddpm3d_ch32", fast_ddpm_options(32, {1, 2}, 1), 2);
}

TEST(FastDdpmUnetGolden, EqualsTheReferenceWithChannelsThatTakeFewerGroups) {
  expect_golden_fast_ddpm("fast_ddpm3d_ch48", fast_ddpm_options(48, {1, 2, 3}, 2), 1);
}

TEST(FastDdpmUnet, HasTheParametersOfTheReferenceConfigurations) {
  const FastDdpmUnet guide(FastDdpmUnetOptions{}, c10::kMeta);
  EXPECT_EQ(parameter_count(*guide), 39'731'649);
  EXPECT_EQ(state_dict(*guide).size(), 210U);
  EXPECT_EQ(parameter_count(*FastDdpmUnet(fast_ddpm_options(32, {1, 2}, 1), c10::kMeta)), 1'707'073);
}

TEST(FastDdpmUnet, GivesTheCheckValuesOfTwoLevels) {
  FastDdpmUnet network(fast_ddpm_options(32, {1, 2}, 1));
  network->to(at::kDouble);
  testing::rule_fill(*network);
  const at::NoGradGuard no_gradient;
  const at::Tensor out = network->forward(testing::rule_input("input", {2, 4, 16, 16, 16}, -1, 1),
                                          at::tensor({99, 999}, at::kLong));
  testing::expect_check_values(
      out, {-3.228786458727e-01, 5.092839801696e-01, -2.389395877791e-01, -2.135603867970e-01});
}

/// Output and gradients of a pass with dropout.
std::vector<at::Tensor> dropout_pass(Recompute recompute) {
  FastDdpmUnetOptions options = fast_ddpm_options(4, {1, 2}, 1);
  options.dropout = 0.3;
  FastDdpmUnet network(options);
  network->to(at::kDouble);
  testing::rule_fill(*network);
  const DrawScope draws({.seed = 3, .epochs = {0, 0}, .examples = {4, 9}});
  const RecomputeScope scope(recompute);
  const at::Tensor out =
      network->forward(testing::rule_input("input", {2, 4, 4, 4, 8}, -1, 1), at::tensor({3, 800}, at::kLong));
  (out * testing::rule_input("weights", out.sizes(), -1, 1)).sum().backward();
  std::vector<at::Tensor> all{out.detach()};
  for (const at::Tensor& parameter : network->parameters()) all.push_back(parameter.grad());
  network->eval();
  EXPECT_GT(testing::largest_difference(network->forward(testing::rule_input("input", {2, 4, 4, 4, 8}, -1, 1),
                                                         at::tensor({3, 800}, at::kLong)),
                                        out),
            1e-3);
  return all;
}

TEST(FastDdpmUnet, GivesTheSameGradientsWhenBlocksAreComputedAgain) {
  const auto kept = dropout_pass(Recompute::none);
  for (const Recompute recompute : {Recompute::blocks, Recompute::all}) {
    const auto again = dropout_pass(recompute);
    ASSERT_EQ(again.size(), kept.size());
    for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_TRUE(at::equal(again[i], kept[i])) << i;
  }
}

TEST(FastDdpmUnet, GuessesATargetAsALinearCombinationOfTheOtherChannels) {
  auto options = fast_ddpm_options(4, {1, 2}, 1);
  options.linear_skip = true;
  FastDdpmUnet network(options);
  const at::Tensor image = testing::rule_input("input", {2, 4, 4, 4, 8}, -1, 1);
  const at::Tensor is_target = at::tensor({0, 0, 1, 0, 1, 0, 0, 0}, at::kLong).to(at::kBool).reshape({2, 4});
  EXPECT_TRUE(network->linear_guess(image, is_target).eq(0).all().item<bool>()) << "of a new network";

  auto weights = network->named_parameters();
  {
    const at::NoGradGuard no_gradient;
    weights["skip.weight"].copy_(testing::rule_input("weight", {4, 4}, -1, 1));
    weights["skip.bias"].copy_(at::tensor({0.1, 0.2, 0.3, 0.4}));
  }
  const at::Tensor guess = network->linear_guess(image, is_target);
  for (const auto& [row, target] : {std::pair{0, 2}, std::pair{1, 0}}) {
    at::Tensor expected = weights["skip.bias"][target].expand({4, 4, 8});
    for (int channel = 0; channel < 4; ++channel) {
      if (channel != target)
        expected = expected + weights["skip.weight"][target][channel] * image[row][channel];
    }
    EXPECT_LE(testing::largest_difference(guess[row][0], expected), 1e-6) << row;
  }
}

TEST(FastDdpmUnet, RefusesWhatDoesNotFit) {
  FastDdpmUnet network(fast_ddpm_options(4, {1, 2}, 1));
  const at::Tensor times = at::tensor({1}, at::kLong);
  EXPECT_THROW(network->forward(at::zeros({1, 4, 4, 4, 5}), times), Error);
  EXPECT_THROW(network->forward(at::zeros({1, 3, 4, 4, 4}), times), Error);
  EXPECT_THROW(fast_ddpm_options(4, {}, 1).check(), Error);
  EXPECT_THROW(fast_ddpm_options(2, {1}, 1).check(), Error);
  EXPECT_THROW(fast_ddpm_options(4, {1, 0}, 1).check(), Error);
}

}  // namespace
}  // namespace larmor::nn
