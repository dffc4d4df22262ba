#include "larmor/optim/ema.h"

#include <gtest/gtest.h>
#include <torch/types.h>

namespace larmor {
namespace {

TEST(Ema, FollowsItsFormula) {
  const std::vector<at::Tensor> parameters = {torch::full({2}, 1.0, at::kDouble),
                                              torch::full({3}, -2.0, at::kDouble)};
  Ema ema(0.9, parameters);
  double expected = 1.0;
  for (int step = 1; step <= 30; ++step) {
    parameters[0].fill_(1.0 + step);
    ema.update(parameters);
    expected = 0.9 * expected + 0.1 * (1.0 + step);
  }
  EXPECT_NEAR(ema.averages()[0][1].item<double>(), expected, 1e-12);
  EXPECT_NEAR(ema.averages()[1][0].item<double>(), -2.0, 1e-14);
}

TEST(Ema, StartsAsACopyThatDoesNotFollowTheParameter) {
  const std::vector<at::Tensor> parameters = {torch::ones({2}).requires_grad_()};
  Ema ema(0.5, parameters);
  parameters[0].detach().fill_(7);
  EXPECT_EQ(ema.averages()[0][0].item<float>(), 1);
  EXPECT_FALSE(ema.averages()[0].requires_grad());
}

TEST(Ema, KeepsSmallChangesOfHalfParameters) {
  const std::vector<at::Tensor> parameters = {torch::ones({1}, at::kBFloat16)};
  Ema ema(0.999, parameters);
  parameters[0].fill_(2);
  ema.update(parameters);
  EXPECT_EQ(ema.averages()[0].scalar_type(), at::kFloat);
  EXPECT_NEAR(ema.averages()[0].item<float>(), 1.001F, 1e-6F);
}

}  // namespace
}  // namespace larmor
