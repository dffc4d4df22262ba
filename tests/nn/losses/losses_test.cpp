#include "larmor/nn/losses/losses.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/nn/support/golden.h"

namespace larmor::nn {
namespace {

constexpr double unreachable = 1e6;

at::Tensor check_mean() { return testing::rule_input("mu", {2, 8, 4, 4, 4}, -1, 1); }
at::Tensor check_sigma() { return testing::rule_input("sig", {2, 8, 4, 4, 4}, -1, 1) + 1.2; }

TEST(KlDivergence, GivesTheTutorialsCheckValue) {
  EXPECT_NEAR(kl_divergence(check_mean(), check_sigma(), 0).item<double>(), 273.1246584800479, 1e-9);
}

TEST(KlDivergence, IsTheMeanOfTheSamplesWhenStable) {
  const at::Tensor mean = check_mean(), sigma = check_sigma();
  const double first = kl_divergence(mean.narrow(0, 0, 1), sigma.narrow(0, 0, 1), unreachable).item<double>();
  const double second =
      kl_divergence(mean.narrow(0, 1, 1), sigma.narrow(0, 1, 1), unreachable).item<double>();
  EXPECT_NEAR(first, 266.4398116, 5e-8);
  EXPECT_NEAR(second, 279.8094930, 5e-8);
  // The source divides by the batch size twice: its value is half of ours for these two samples.
  const double both = kl_divergence(mean, sigma, unreachable).item<double>();
  EXPECT_NEAR(both, (first + second) / 2, 1e-10);
  EXPECT_NEAR(both / 2, 136.5623261726, 5e-10 * 136);
}

TEST(KlDivergence, ClampsEachSampleAlone) {
  const double clamped = kl_divergence(check_mean(), check_sigma(), 270).item<double>();
  EXPECT_NEAR(clamped, (266.4398116 + 270) / 2, 5e-8);
}

TEST(KlDivergence, StaysFiniteWhereTheDeviationVanishes) {
  const at::Tensor mean = at::zeros({1, 2, 2, 2, 2}, at::kDouble);
  at::Tensor sigma = at::zeros({1, 2, 2, 2, 2}, at::kDouble).set_requires_grad(true);
  const at::Tensor loss = kl_divergence(mean, sigma, 1000);
  loss.backward();
  EXPECT_TRUE(std::isfinite(loss.item<double>()));
  EXPECT_TRUE(sigma.grad().isfinite().all().item<bool>());
  EXPECT_TRUE(std::isinf(kl_divergence(mean, sigma, 0).item<double>()));
}

TEST(AdversarialLeastSquares, MeasuresLeakyLogitsAgainstTheTarget) {
  const at::Tensor logits = at::tensor({2.0, -4.0}, at::kDouble);
  EXPECT_NEAR(adversarial_least_squares(logits, true).item<double>(), (1.0 + 1.44) / 2, 1e-12);
  EXPECT_NEAR(adversarial_least_squares(logits, false).item<double>(), (4.0 + 0.04) / 2, 1e-12);
}

/// Sums over a latent in half precision have three digits; the values themselves are what they are.
TEST(Losses, HaveAllDigitsOfHalfPrecisionsValues) {
  for (const at::ScalarType type : {at::kBFloat16, at::kHalf}) {
    const at::Tensor mean = check_mean().to(type), sigma = check_sigma().to(type);
    for (const double most : {0.0, unreachable}) {
      const double exact = kl_divergence(mean.to(at::kDouble), sigma.to(at::kDouble), most).item<double>();
      EXPECT_NEAR(kl_divergence(mean, sigma, most).item<double>(), exact, 1e-6 * exact) << type;
    }
    const double exact = adversarial_least_squares(mean.to(at::kDouble), true).item<double>();
    EXPECT_NEAR(adversarial_least_squares(mean, true).item<double>(), exact, 1e-6 * exact) << type;
  }
}

TEST(Losses, HaveGradientsOfTheValuesOwnType) {
  const at::Tensor sigma = check_sigma().to(at::kBFloat16).requires_grad_();
  kl_divergence(check_mean().to(at::kBFloat16), sigma, 0).backward();
  EXPECT_EQ(sigma.grad().scalar_type(), at::kBFloat16);
}

}  // namespace
}  // namespace larmor::nn
