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
  EXPECT_TRUE(fit.allclose(at::tensor({0.5, -0.2, -1.0, 0.1}, at::kDouble), 1e-6, 1e-8));
  EXPECT_LE(error_of_fit(products, fit), 1e-12);
}

TEST(LinearFit, IsJudgedInsideTheBrainAlone) {
  const at::Tensor training = combined_channels(0.05), judged = combined_channels(0.2);
  at::Tensor brain = at::zeros({6, 7, 8}, at::kBool);
  brain.slice(0, 2, 5).fill_(true);
  const at::Tensor fit = linear_fit(channel_products(training, brain), 2);
  const at::Tensor guess = fit[0] * judged[0] + fit[1] * judged[1] + fit[3];
  const double direct = at::masked_select(guess - judged[2], brain).square().mean().item<double>();
  EXPECT_NEAR(error_of_fit(channel_products(judged, brain), fit), direct, 1e-12);
}

TEST(LinearFit, DoesWithoutAChannelThatSaysNothing) {
  at::Tensor image = combined_channels(0);
  image[1] = image[0];  // a copy
  image[2] = 0.3 * image[0];
  const at::Tensor products = channel_products(image, at::ones({6, 7, 8}, at::kBool));
  EXPECT_LE(error_of_fit(products, linear_fit(products, 2)), 1e-9);
}

}  // namespace
}  // namespace larmor::fast_ddpm
