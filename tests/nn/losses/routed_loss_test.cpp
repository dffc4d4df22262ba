#include "larmor/nn/losses/routed_loss.h"

#include <cmath>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace larmor::nn {
namespace {

const at::Tensor kinds = at::tensor({0, 1, 1, 0, 2}, at::kLong),
                 known = at::tensor({1, 0, -1, 2, 0}, at::kLong);

TEST(RoutedLoss, GivesEachHeadItsOwnQuestions) {
  const auto answers = routed_answers(kinds, known, 4);
  ASSERT_EQ(answers.size(), 4U);
  EXPECT_TRUE(answers[0].equal(at::tensor({1, -1, -1, 2, -1}, at::kLong)));
  EXPECT_TRUE(answers[1].equal(at::tensor({-1, 0, -1, -1, -1}, at::kLong))) << "an answer that is not known";
  EXPECT_TRUE(answers[2].equal(at::tensor({-1, -1, -1, -1, 0}, at::kLong)));
  EXPECT_TRUE(counts_of_answers(answers).equal(at::tensor({2.0, 1.0, 1.0, 0.0}, at::kDouble)));
}

TEST(RoutedLoss, SumsTheCrossEntropyOfKnownAnswers) {
  const at::Tensor logits =
      at::tensor({1.0, 2.0, 0.5, 0.0, 3.0, -1.0}, at::kDouble).view({2, 3}).requires_grad_();
  const at::Tensor loss = summed_cross_entropy(logits, at::tensor({1, -1}, at::kLong));
  EXPECT_NEAR(loss.item<double>(), std::log(std::exp(1.0) + std::exp(2.0) + std::exp(0.5)) - 2.0, 1e-12);
  loss.backward();
  EXPECT_EQ(logits.grad()[1].abs().sum().item<double>(), 0) << "it was not asked";
}

TEST(RoutedLoss, IsZeroWithAGradientWhereNobodyAsks) {
  const at::Tensor logits = at::ones({2, 3}).requires_grad_();
  const at::Tensor loss = summed_cross_entropy(logits, at::full({2}, -1, at::kLong));
  EXPECT_EQ(loss.item<double>(), 0);
  loss.backward();
  EXPECT_EQ(logits.grad().abs().sum().item<double>(), 0);
}

TEST(RoutedLoss, OfPartsAddsUpToTheWholes) {
  const at::Tensor logits = at::randn({5, 3}, at::kDouble);
  const at::Tensor answers = at::tensor({0, -1, 2, 1, 1}, at::kLong);
  const double whole = summed_cross_entropy(logits, answers).item<double>();
  const double parts = summed_cross_entropy(logits.narrow(0, 0, 2), answers.narrow(0, 0, 2)).item<double>() +
                       summed_cross_entropy(logits.narrow(0, 2, 3), answers.narrow(0, 2, 3)).item<double>();
  EXPECT_NEAR(whole, parts, 1e-12);
  EXPECT_EQ(summed_cross_entropy(logits.to(at::kBFloat16), answers).scalar_type(), at::kFloat);
}

}  // namespace
}  // namespace larmor::nn
