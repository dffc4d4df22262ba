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

TEST(Ema, LendsItsValuesToTheParametersAndGivesTheirsBackToTheBit) {
  const std::vector<at::Tensor> parameters = {torch::full({2}, 1.0 / 3, at::kBFloat16),
                                              torch::full({3}, 1.0 / 7, at::kDouble)};
  Ema ema(0.9, parameters);
  parameters[0].fill_(5);
  parameters[1].fill_(7);
  ema.update(parameters);
  const at::Tensor average = ema.averages()[0].clone();
  ema.apply_to(parameters);
  EXPECT_TRUE(torch::equal(parameters[0], average.to(at::kBFloat16)));
  EXPECT_TRUE(torch::equal(parameters[1], ema.averages()[1]));
  ema.restore(parameters);
  EXPECT_TRUE(torch::equal(parameters[0], torch::full({2}, 5, at::kBFloat16)));
  EXPECT_TRUE(torch::equal(parameters[1], torch::full({3}, 7.0, at::kDouble)));
  EXPECT_TRUE(torch::equal(ema.averages()[0], average)) << "a rounded average would not be the average";
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
