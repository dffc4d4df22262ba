#include "larmor/nn/losses/dice_loss.h"

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace larmor::nn {
namespace {

/// Those of the values below, which monai.losses (1.6) gives in float64.
at::Tensor waves() {
  return ((at::arange(2 * 3 * 4 * 3 * 2, at::kDouble) * 0.37).sin() * 2).view({2, 3, 4, 3, 2});
}
at::Tensor scattered_classes() {
  return (at::arange(2 * 4 * 3 * 2) * 7).remainder(11).remainder(3).view({2, 1, 4, 3, 2}).to(at::kDouble);
}

double dice_with(const DiceOptions& options) {
  return dice_loss(waves(), scattered_classes(), options).item<double>();
}

TEST(DiceLoss, IsMonais) {
  EXPECT_NEAR(dice_with({}), 0.6555856170310835, 1e-12);
  EXPECT_NEAR(dice_with({.include_background = false}), 0.6564071009163588, 1e-12);
  EXPECT_NEAR(dice_with({.batch = true}), 0.6561110592799929, 1e-12);
  // MONAI takes the overlap from norms there, which costs it digits.
  EXPECT_NEAR(dice_with({.squared_pred = true}), 0.5738953953891882, 1e-7);
  EXPECT_NEAR(dice_with({.smooth_nr = 0, .smooth_dr = 1e-6}), 0.6555860545800122, 1e-12);
  EXPECT_NEAR(dice_with({.include_background = false, .batch = true}), 0.6572954790288419, 1e-12);
}

TEST(DiceLoss, WithCrossEntropyIsMonais) {
  const at::Tensor logits = waves(), classes = scattered_classes();
  EXPECT_NEAR(dice_cross_entropy_loss(logits, classes).item<double>(), 2.4315834935895477, 1e-12);
  EXPECT_NEAR(dice_cross_entropy_loss(logits, classes, {.lambda_dice = 0.5, .lambda_ce = 2}).item<double>(),
              3.87978856163247, 1e-12);
  EXPECT_NEAR(
      dice_cross_entropy_loss(logits, classes, {.dice = {.include_background = false}}).item<double>(),
      2.432404977474823, 1e-12);
}

/// Two voxels of two classes, by hand: probabilities 3/4 and 1/4, then 1/2 and 1/2, of the classes 0 and 1.
TEST(DiceLoss, IsWhatAPersonWorksOut) {
  const at::Tensor logits = at::tensor({std::log(3.0), 0.0, 0.0, 0.0}, at::kDouble).view({1, 2, 1, 1, 2});
  const at::Tensor classes = at::tensor({0, 1}).view({1, 1, 1, 1, 2});
  const DiceOptions exact{.smooth_nr = 0, .smooth_dr = 0};
  const double first = 2 * 0.75 / (1.25 + 1), second = 2 * 0.5 / (0.75 + 1);
  EXPECT_NEAR(dice_loss(logits, classes, exact).item<double>(), 1 - (first + second) / 2, 1e-12);
  EXPECT_NEAR(dice_cross_entropy_loss(logits, classes, {.dice = exact, .lambda_dice = 0}).item<double>(),
              -(std::log(0.75) + std::log(0.5)) / 2, 1e-12);
}

TEST(DiceLoss, FallsTowardsTheTruthAndHasAGradientWhereAClassIsAbsent) {
  const at::Tensor classes = at::zeros({1, 1, 2, 2, 2});
  at::Tensor logits = at::zeros({1, 3, 2, 2, 2}).set_requires_grad(true);
  dice_cross_entropy_loss(logits, classes).backward();
  EXPECT_TRUE(logits.grad().isfinite().all().item<bool>());
  EXPECT_LT(logits.grad().select(1, 0).max().item<float>(), 0);
  at::Tensor sure = at::full({1, 3, 2, 2, 2}, -30.0);
  sure.select(1, 0).fill_(30);
  EXPECT_NEAR(dice_loss(sure, classes).item<double>(), 0, 1e-4);
}

/// What a sum over many voxels in half precision would lose.
TEST(DiceLoss, HasAllDigitsOfHalfPrecisionsValues) {
  const at::Tensor logits = at::randn({1, 2, 24, 24, 24}, at::kDouble).to(at::kBFloat16);
  const at::Tensor classes = at::rand({1, 1, 24, 24, 24}).gt(0.9);
  const double exact = dice_loss(logits.to(at::kDouble), classes).item<double>();
  EXPECT_NEAR(dice_loss(logits, classes).item<double>(), exact, 1e-5);
}

}  // namespace
}  // namespace larmor::nn
