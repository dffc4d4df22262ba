// The diffusion U-Net against what MONAI computed with the same weights.
#include <cmath>
#include <string>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/nn/networks/diffusion_unet/diffusion_unet.h"

#include "tests/nn/support/golden.h"
#include "tests/nn/support/golden_unet.h"

namespace larmor::nn {
namespace {

using testing::Golden;

/// [N, width]: the sinusoids in float32 arithmetic, as MONAI has them on a CPU.
at::Tensor sinusoids_in_float32(const at::Tensor& times, int64_t width) {
  const int64_t half = width / 2;
  const at::Tensor exponent = at::arange(half, at::kFloat) * -std::log(10'000.0) / half;
  const at::Tensor angles = times.to(at::kCPU, at::kFloat).unsqueeze(1) * exponent.exp().unsqueeze(0);
  return at::cat({angles.cos(), angles.sin()}, 1).to(times.device());
}

DiffusionUnetOptions conditioned_by_concatenation(int64_t norm_groups, bool resblock_updown) {
  DiffusionUnetOptions options;
  options.in_channels = 8;
  options.out_channels = 4;
  options.channels = {16, 32, 64};
  options.attention_levels = {false, true, true};
  options.num_head_channels = {0, 16, 32};
  options.norm_num_groups = norm_groups;
  options.resblock_updown = resblock_updown;
  return options;
}

void expect_conditioned(const std::string& name, const DiffusionUnetOptions& options) {
  const auto golden = Golden::shared(name);
  if (!golden) GTEST_SKIP() << name << " is not on this machine";
  const at::Tensor input = at::cat({golden->at("input/x"), golden->at("input/condition")}, 1);
  testing::expect_golden_unet<DiffusionUnet>(
      golden->run("f64/"), golden->at("input/target"), [&] { return DiffusionUnet(options); },
      [&](DiffusionUnet& network, at::ScalarType type) {
        return network->forward(input.to(type), golden->at("input/t"));
      });
}

TEST(DiffusionUnetGolden, EqualsTheReferenceWithSinusoidsInFloat32) {
  const auto golden = Golden::shared("diffusion_unet");
  if (!golden) GTEST_SKIP() << "diffusion_unet is not on this machine";
  DiffusionUnetOptions options;
  options.in_channels = options.out_channels = 4;
  options.channels = {32, 64, 64};
  options.num_res_blocks = {1};
  options.attention_levels = {false, false, true};
  options.num_head_channels = {0, 0, 32};
  const at::Tensor sinusoids = sinusoids_in_float32(golden->at("input/t"), options.channels.front());
  testing::expect_golden_unet<DiffusionUnet>(
      *golden, golden->at("input/target"), [&] { return DiffusionUnet(options); },
      [&](DiffusionUnet& network, at::ScalarType type) {
        return network->forward_embedded(golden->at("input/x").to(type), sinusoids.to(type));
      });
}

TEST(DiffusionUnetGolden, EqualsTheReferenceWithAConditionBesideTheNoise) {
  expect_conditioned("diffusion_unet_cond_plain", conditioned_by_concatenation(16, false));
}

TEST(DiffusionUnetGolden, EqualsTheReferenceWithResolutionsChangedInResidualBlocks) {
  expect_conditioned("diffusion_unet_cond_updown", conditioned_by_concatenation(8, true));
}

}  // namespace
}  // namespace larmor::nn
