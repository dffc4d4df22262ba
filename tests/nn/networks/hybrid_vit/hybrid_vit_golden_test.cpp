// The reference cascade against what its own code computed with the same weights: every stage's intermediate
// results, losses and gradients. The physics term is the reference's, too: a sum along the first axis,
// normalised over the whole batch.
#include <algorithm>
#include <string>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/device/module_state.h"
#include "larmor/nn/networks/hybrid_vit/hybrid_vit.h"

#include "tests/nn/support/golden.h"

namespace larmor::nn {
namespace {

using testing::Golden;
using testing::relative_l2;

constexpr const char* golden_file = "hybrid_vit";
constexpr int64_t times_of_the_schedule = 1000;

HybridVitStageOptions stage_of_case(int64_t number) {
  return {.name = "stage" + std::to_string(number),
          .volume_size = number == 1 ? 32 : 64,
          .voxel_dim = number == 1 ? 64 : 96,
          .vit_depth = 2,
          .num_heads = number == 1 ? 4 : 6,
          .follows_another = number > 1};
}

/// Inputs of one stage, filled by rule and rounded to float32.
struct Case {
  CascadeInput input = {};
  at::Tensor x0, noise, xrays, signal, deviation;
};

Case case_of(int64_t number, const Golden& golden, at::ScalarType type) {
  const auto rounded = [](const std::string& name, at::IntArrayRef sizes, double most) {
    return testing::rule_input(name, sizes, -most, most).to(at::kFloat).to(at::kDouble);
  };
  const bool is_first = number == 1;
  const int64_t rows = is_first ? 2 : 1, size = is_first ? 32 : 64;
  const at::Tensor first_x0 = rounded("input", {2, 1, 32, 32, 32}, 1);
  const at::Tensor times = golden.at("input/t").narrow(0, 0, rows);
  const at::Tensor share = golden.at("schedule/alphas_cumprod").index({times}).view({-1, 1, 1, 1, 1});
  Case one{.x0 = is_first ? first_x0 : rounded("input", {1, 1, size, size, size}, 1),
           .noise = rounded(is_first ? "noise" : "noise stage2", {rows, 1, size, size, size}, 1.7),
           .xrays = rounded("xray", {2, 2, 1, 128, 128}, 1).squeeze(2).narrow(0, 0, rows),
           .signal = share.sqrt(),
           .deviation = (1 - share).sqrt()};
  one.input = {.noisy = (one.signal * one.x0 + one.deviation * one.noise).to(type),
               .time = times.to(at::kDouble) / times_of_the_schedule,
               .xrays = one.xrays.to(type)};
  if (!is_first) one.input.previous = first_x0.narrow(0, 0, 1).to(type);
  return one;
}

at::Tensor normalised_over_the_batch(const at::Tensor& projection) {
  const at::Tensor low = projection.min();
  return (projection - low) / (projection.max() - low + 1e-8);
}

struct Losses {
  at::Tensor diffusion, physics, total;
};

Losses losses_of(const Case& one, const at::Tensor& v) {
  const auto like_v = [&](const at::Tensor& tensor) { return tensor.to(v.scalar_type()); };
  const at::Tensor target = one.signal * one.noise - one.deviation * one.x0;
  const at::Tensor x0 = (like_v(one.signal) * one.input.noisy - like_v(one.deviation) * v).clamp(-10, 10);
  const at::Tensor projection = normalised_over_the_batch(x0.select(1, 0).sum(1));
  const at::Tensor shown = at::upsample_bilinear2d(projection.unsqueeze(1), {128, 128}, true);
  Losses losses{.diffusion = at::mse_loss(v, like_v(target)),
                .physics = at::mse_loss(shown.expand({-1, 2, -1, -1}), one.input.xrays),
                .total = {}};
  losses.total = losses.diffusion + 0.3 * losses.physics;
  return losses;
}

/// 64 values at even distances of the flat tensor, and four figures of all of it.
void expect_sampled(const at::Tensor& actual, const Golden& golden, const std::string& name) {
  const at::Tensor flat = actual.detach().to(at::kDouble).contiguous().flatten();
  EXPECT_LE(relative_l2(flat.index({golden.at(name + "/sample_index")}), golden.at(name + "/sample")), 1e-6)
      << name;
  const at::Tensor figures = at::stack({flat.mean(), flat.abs().mean(), flat[0], flat[-1]});
  EXPECT_LE(relative_l2(figures, golden.at(name + "/stats_mean_absmean_first_last")), 1e-6) << name;
}

void expect_near_in_float32(const at::Tensor& single, const at::Tensor& exact, const Golden& golden,
                            const std::string& name) {
  // The reference's error is what came out on one CPU, and may be nearly none by luck: of a sum of float32
  // that is rounded a few times at its end, each to half of its last bit, so much is left on any.
  constexpr double half_a_bit = 0x1p-24, roundings = 8;
  const double least = roundings * half_a_bit * exact.abs().max().item<double>();
  EXPECT_LE(testing::largest_difference(single, exact), std::max(golden.allowed_in_float32(name), least))
      << name;
}

HybridVit network_of_case(int64_t number, at::ScalarType type) {
  HybridVit network(HybridVitOptions{.stages = {stage_of_case(number)}, .dropout = 0});
  testing::rule_fill(*network);
  network->to(at::kFloat);
  testing::rule_fill(*network);
  network->to(type);
  return network;
}

void expect_golden_stage(int64_t number) {
  const auto file = Golden::shared(golden_file);
  if (!file) GTEST_SKIP() << golden_file << " is not on this machine";
  const std::string stage = "stage" + std::to_string(number);
  const Golden golden = file->run(stage + "/");

  HybridVit exact = network_of_case(number, at::kDouble), single = network_of_case(number, at::kFloat);
  const Case one = case_of(number, golden, at::kDouble), rough = case_of(number, golden, at::kFloat);
  const auto encoded = exact->encode(one.input), rough_encoded = single->encode(rough.input);
  const auto lifted = exact->lift(stage, encoded.features),
             rough_lifted = single->lift(stage, rough_encoded.features);
  const at::Tensor v = exact->denoise(stage, one.input), rough_v = single->denoise(stage, rough.input);
  expect_sampled(encoded.features, golden, "out/xray_features");
  expect_sampled(encoded.condition, golden, "out/condition");
  expect_sampled(lifted.weights.permute({0, 2, 3, 1}), golden, "out/depth_weights_b_h_w_d");
  expect_sampled(lifted.prior, golden, "out/depth_prior_before_resizing");
  expect_sampled(v, golden, "out/v_prediction");
  const Losses losses = losses_of(one, v), rough_losses = losses_of(rough, rough_v);
  EXPECT_LE(relative_l2(losses.diffusion, golden.at("loss/diffusion")), 1e-9);
  EXPECT_LE(relative_l2(losses.physics, golden.at("loss/physics")), 1e-9);
  EXPECT_LE(relative_l2(losses.total, golden.at("loss/total")), 1e-9);

  losses.total.backward();
  testing::expect_golden_gradients(*exact, golden);
  expect_near_in_float32(rough_encoded.features, encoded.features, golden, "out/xray_features");
  expect_near_in_float32(rough_encoded.condition, encoded.condition, golden, "out/condition");
  expect_near_in_float32(rough_lifted.prior, lifted.prior, golden, "out/depth_prior_before_resizing");
  expect_near_in_float32(rough_v, v, golden, "out/v_prediction");
  expect_near_in_float32(rough_losses.total, losses.total, golden, "loss/total");
  rough_losses.total.backward();
  testing::expect_golden_float32_error(*single, *exact, golden);
}

TEST(HybridVitGolden, EqualsTheReferenceInItsFirstStage) { expect_golden_stage(1); }

TEST(HybridVitGolden, EqualsTheReferenceInAStageThatFollowsAnother) { expect_golden_stage(2); }

TEST(HybridVitGolden, HasTheWeightsOfBothStagesUnderTheReferencesNames) {
  const auto golden = Golden::shared(golden_file);
  if (!golden) GTEST_SKIP() << golden_file << " is not on this machine";
  HybridVit network(HybridVitOptions{.stages = {stage_of_case(1), stage_of_case(2)}, .dropout = 0});
  testing::rule_fill_as(*network, *golden, at::kDouble);
}

/// A line of the table of check values, whose weights are not rounded to float32.
TEST(HybridVitGolden, TakesZerosForTheMeanOfAPreviousStageThatIsNotGiven) {
  const auto golden = Golden::shared(golden_file);
  if (!golden) GTEST_SKIP() << golden_file << " is not on this machine";
  HybridVit network(HybridVitOptions{.stages = {stage_of_case(2)}, .dropout = 0});
  network->to(at::kDouble);
  testing::rule_fill(*network);
  const at::NoGradGuard no_gradient;
  const at::Tensor volume = testing::rule_input("input", {1, 1, 64, 64, 64}, -1, 1);
  CascadeInput input{
      .noisy = volume,
      .time = at::full({1}, 0.01, volume.options()),
      .xrays = testing::rule_input("xray", {2, 2, 1, 128, 128}, -1, 1).squeeze(2).narrow(0, 0, 1)};
  testing::expect_check_values(network->denoise(input), {-1.054981836511e+00, 1.055049435986e+00,
                                                         -6.180026943025e-01, -1.099529181294e+00});
  input.previous = testing::rule_input("input", {2, 1, 32, 32, 32}, -1, 1).narrow(0, 0, 1);
  testing::expect_check_values(network->denoise(input), {-9.863243077532e-01, 9.864547874121e-01,
                                                         -5.414581753697e-01, -1.035759232370e+00});
}

}  // namespace
}  // namespace larmor::nn
