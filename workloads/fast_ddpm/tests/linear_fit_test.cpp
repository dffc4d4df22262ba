#include "workloads/fast_ddpm/denoiser/linear_fit.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace larmor::fast_ddpm {
namespace {

/// Three channels of which the last is 0.5 first - 0.2 second + 0.1, and `noise` times noise.
at::Tensor combined_channels(double noise) {
  at::manual_seed(3);
  const at::Tensor own = at::rand({2, 6, 7, 8}, at::kDouble) - 0.5;
  const at::Tensor last = 0.5 * own[0] - 0.2 * own[1] + 0.1 + noise * at::randn({6, 7, 8}, at::kDouble);
  return at::cat({own, last.unsqueeze(0)});
}

TEST(LinearFit, FindsTheFactorsThatTheTargetWasMadeWith) {
  const at::Tensor image = combined_channels(0);
  const at::Tensor products = channel_products(image, at::ones({6, 7, 8}, at::kBool));
  const at::Tensor fit = linear_fit(products, 2);
  EXPECT_TRUE(fit.allclose(at::tensor({0.5, -0.2, 0.0, 0.1}, at::kDouble), 1e-6, 1e-8));
  EXPECT_TRUE(fitted(image, fit).allclose(image[2], 1e-6, 1e-8));
}

TEST(LinearFit, IsMadeInsideTheBrainAlone) {
  at::Tensor image = combined_channels(0);
  at::Tensor brain = at::zeros({6, 7, 8}, at::kBool);
  brain.slice(0, 2, 5).fill_(true);
  image[2].masked_fill_(brain.logical_not(), 0.7);
  const at::Tensor fit = linear_fit(channel_products(image, brain), 2);
  EXPECT_TRUE(fit.allclose(at::tensor({0.5, -0.2, 0.0, 0.1}, at::kDouble), 1e-6, 1e-8));
}

TEST(LinearFit, DoesWithoutAChannelThatSaysNothing) {
  at::Tensor image = combined_channels(0);
  image[1] = image[0];  // a copy
  image[2] = 0.3 * image[0];
  const at::Tensor products = channel_products(image, at::ones({6, 7, 8}, at::kBool));
  EXPECT_TRUE(fitted(image, linear_fit(products, 2)).allclose(image[2], 1e-4, 1e-5));
}

// A network's image is cut to the range of images, too.
TEST(LinearFit, StaysInTheRangeOfImages) {
  const at::Tensor image = at::full({2, 1, 1, 2}, 0.9, at::kDouble);
  const at::Tensor guess = fitted(image, at::tensor({2.0, 0.0, -0.1}, at::kDouble));
  EXPECT_TRUE(guess.equal(at::ones({1, 1, 2}, at::kDouble)));
  EXPECT_TRUE(fitted(image, at::tensor({-2.0, 0.0, -0.1}, at::kDouble)).equal(-guess));
}

TEST(LinearFit, AddsTheProductsOfAllCases) {
  const CaseValues noted{{"products 0 0", {{0, 1.0}, {1, 2.0}}},
                         {"products 1 0", {{0, 3.0}, {1, 4.0}}},
                         {"products 1 1", {{0, 5.0}, {1, 6.0}}}};
  const auto together = noted_products(noted, 1);
  ASSERT_TRUE(together);
  EXPECT_TRUE(together->equal(at::tensor({3.0, 7.0, 7.0, 11.0}, at::kDouble).view({2, 2})));
  EXPECT_FALSE(noted_products({}, 1));
}

}  // namespace
}  // namespace larmor::fast_ddpm
