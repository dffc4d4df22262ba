#include "larmor/nn/diffusion/clipping.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

#include "tests/nn/support/golden.h"

namespace larmor::nn {
namespace {

using testing::largest_difference;

TEST(Clipping, ClampsToItsRangeOrNotAtAll) {
  const at::Tensor x0 = at::tensor({-3.0, -0.5, 2.0}, at::kDouble).view({1, 3});
  EXPECT_TRUE(at::equal(clipped(x0, {}), x0.clamp(-1, 1)));
  EXPECT_TRUE(at::equal(clipped(x0, {.clip_sample_range = 2.5}), x0.clamp(-2.5, 2.5)));
  EXPECT_TRUE(at::equal(clipped(x0, {.clip_sample = false}), x0));
}

TEST(Clipping, ThresholdsEachRowByItsOwnQuantile) {
  // 0, 1, …, 100 and a tenth of it: the 0.9 quantiles of their absolute values are 90 and 9.
  const at::Tensor row = at::arange(101, at::kDouble);
  const at::Tensor x0 = at::stack({row, -row / 10, row / 200});
  const at::Tensor result =
      clipped(x0.view({3, 1, 101}),
              {.thresholding = true, .dynamic_thresholding_ratio = 0.9, .sample_max_value = 1000});
  EXPECT_EQ(result.sizes(), (std::vector<int64_t>{3, 1, 101}));
  EXPECT_LE(largest_difference(result[0][0], (row / 90).clamp_max(1)), 1e-12);
  EXPECT_LE(largest_difference(result[1][0], (-row / 90).clamp_min(-1)), 1e-12);
  // The third one's quantile lies below 1, which leaves it as it is.
  EXPECT_LE(largest_difference(result[2][0], row / 200), 1e-12);
}

TEST(Clipping, TakesTheQuantileBetweenOrderStatisticsLinearly) {
  const at::Tensor x0 = testing::rule_input("x0", {2, 3, 5, 7}, -9, 9);
  const ClippingOptions options{.thresholding = true, .sample_max_value = 100};
  const at::Tensor quantiles =
      at::quantile(x0.flatten(1).abs(), options.dynamic_thresholding_ratio, 1).view({2, 1, 1, 1});
  EXPECT_LE(largest_difference(clipped(x0, options),
                               at::maximum(at::minimum(x0, quantiles), -quantiles) / quantiles),
            1e-12);
}

TEST(Clipping, ThresholdsNoHigherThanTheLargestValueAllowed) {
  const at::Tensor x0 = at::full({1, 4}, 8.0, at::kFloat);
  // diffusers' default: no higher than 1, which is clamping to [-1, 1].
  EXPECT_EQ(clipped(x0, {.thresholding = true}).max().item<float>(), 1);
  EXPECT_EQ(clipped(x0 / 4, {.thresholding = true, .sample_max_value = 4}).max().item<float>(), 1);
  const at::Tensor half = clipped(x0.to(at::kHalf), {.thresholding = true});
  EXPECT_EQ(half.scalar_type(), at::kHalf);
}

TEST(Clipping, ARangeOfNothingIsRefused) {
  EXPECT_THROW(ClippingOptions{.clip_sample_range = 0}.check(), Error);
  const ClippingOptions unused{.clip_sample = false, .clip_sample_range = 0};
  EXPECT_NO_THROW(unused.check());
}

}  // namespace
}  // namespace larmor::nn
