#include "workloads/xray_vqa/network/vqa_loss.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/nn/support/golden.h"

namespace larmor::xray_vqa {
namespace {

using testing::rule_input;

VqaOutputs invented_logits(int64_t rows) {
  VqaOutputs outputs;
  for (std::size_t i = 0; i < heads; ++i)
    outputs.answers[i] = rule_input(std::string("lg") + head_names[i], {rows, head_classes[i]}, -2, 2);
  outputs.labels = rule_input("ch", {rows, 14}, -2, 2);
  return outputs;
}

VqaTargets labels_of_the_check_values() {
  VqaTargets targets;
  targets.labels = (rule_input("cl", {4, 14}, -0.5, 0.5) > 0).to(at::kFloat);
  targets.labels_mask = rule_input("cm", {4, 14}, -0.5, 0.5) > -0.2;
  return targets;
}

/// Mean cross-entropy of a head over its questions.
double mean_of(const VqaLoss& loss, const VqaTargets& targets, Head head) {
  const auto i = static_cast<int64_t>(head);
  return (loss.answers[static_cast<std::size_t>(i)] / counts_of(targets)[i]).item<double>();
}

TEST(VqaLoss, GivesTheCheckValuesOfOneQuestionAHead) {
  VqaTargets targets = labels_of_the_check_values();
  targets.answers = {at::tensor({0, -1, -1, -1}, at::kLong), at::tensor({-1, 5, -1, -1}, at::kLong),
                     at::tensor({-1, -1, 7, -1}, at::kLong), at::tensor({-1, -1, -1, 3}, at::kLong)};
  const VqaLoss loss = vqa_loss(invented_logits(4), targets, counts_of(targets), {});
  EXPECT_NEAR(mean_of(loss, targets, Head::binary), 2.847716742120903, 1e-12);
  EXPECT_NEAR(mean_of(loss, targets, Head::category), 1.8438264141695222, 1e-12);
  EXPECT_NEAR(mean_of(loss, targets, Head::region), 3.6086595713854157, 1e-12);
  EXPECT_NEAR(mean_of(loss, targets, Head::severity), 2.5244457531837643, 1e-12);
  EXPECT_NEAR(loss.vqa.item<double>(), 6.331293460853501, 1e-12);
  EXPECT_NEAR((loss.labels / counts_of(targets)[heads]).item<double>(), 0.9287428457574202, 1e-12);
  EXPECT_NEAR(loss.total.item<double>(), 6.609916314580727, 1e-12);
}

TEST(VqaLoss, GivesTheCheckValuesWhereAHeadHasNoQuestion) {
  VqaTargets targets = labels_of_the_check_values();
  targets.answers = {at::tensor({0, 1, -1, -1}, at::kLong), at::tensor({3, -1, 13, -1}, at::kLong),
                     at::tensor({-1, -1, -1, -1}, at::kLong), at::tensor({-1, -1, -1, 3}, at::kLong)};
  const VqaLoss loss = vqa_loss(invented_logits(4), targets, counts_of(targets), {});
  EXPECT_NEAR(mean_of(loss, targets, Head::binary), 1.6630610154799859, 1e-12);
  EXPECT_NEAR(mean_of(loss, targets, Head::category), 3.6053933675856986, 1e-12);
  EXPECT_NEAR(loss.vqa.item<double>(), 4.223091425227964, 1e-12);
  EXPECT_NEAR(loss.total.item<double>(), 4.50171427895519, 1e-12);
}

TEST(VqaLoss, LetsEachQuestionReachItsHeadAlone) {
  const at::Tensor head = at::tensor({0, 3, -1, 1, 2}, at::kLong),
                   answer = at::tensor({1, 2, 0, -1, 25}, at::kLong);
  const at::Tensor labels = at::zeros({5, 14}), mask = at::zeros({5, 14}, at::kBool);
  const VqaTargets targets = targets_of(head, answer, labels, mask);
  EXPECT_TRUE(at::equal(counts_of(targets), at::tensor({1, 0, 1, 1, 0}).to(at::kDouble)));
  VqaOutputs outputs = invented_logits(5);
  for (at::Tensor& logits : outputs.answers) logits.requires_grad_();
  outputs.labels.requires_grad_();
  vqa_loss(outputs, targets, counts_of(targets), {}).total.backward();
  const auto rows_with_gradient = [](const at::Tensor& logits) { return logits.grad().abs().sum(1) > 0; };
  EXPECT_TRUE(at::equal(rows_with_gradient(outputs.answers[0]), at::arange(5) == 0));
  EXPECT_TRUE(at::equal(rows_with_gradient(outputs.answers[1]), at::arange(5) < 0));
  EXPECT_TRUE(at::equal(rows_with_gradient(outputs.answers[2]), at::arange(5) == 4));
  EXPECT_TRUE(at::equal(rows_with_gradient(outputs.answers[3]), at::arange(5) == 1));
  EXPECT_EQ(outputs.labels.grad().abs().max().item<double>(), 0);
}

// Each part lacks heads that another one has.
TEST(VqaLoss, IsTheSameHoweverTheStepIsDivided) {
  const at::Tensor head = at::tensor({0, 0, 1, -1, 2, 3, 0, 1}, at::kLong),
                   answer = at::tensor({1, 0, 3, 2, 9, 2, 1, -1}, at::kLong);
  const at::Tensor labels = rule_input("labels", {8, 14}, 0, 1).round();
  const at::Tensor mask = rule_input("mask", {8, 14}, 0, 1) > 0.6;
  const VqaTargets all = targets_of(head, answer, labels, mask);
  const auto pass = [&](int64_t parts) {
    VqaOutputs outputs = invented_logits(8);
    for (at::Tensor& logits : outputs.answers) logits.requires_grad_();
    outputs.labels.requires_grad_();
    double total = 0;
    for (int64_t part = 0; part < parts; ++part) {
      const auto cut = [&](const at::Tensor& tensor) {
        return tensor.narrow(0, part * 8 / parts, 8 / parts);
      };
      VqaOutputs some;
      for (std::size_t i = 0; i < heads; ++i) some.answers[i] = cut(outputs.answers[i]);
      some.labels = cut(outputs.labels);
      const auto loss =
          vqa_loss(some, targets_of(cut(head), cut(answer), cut(labels), cut(mask)), counts_of(all), {});
      loss.total.backward();
      total += loss.total.item<double>();
    }
    std::vector<at::Tensor> gradients{at::scalar_tensor(total, at::kDouble), outputs.labels.grad()};
    for (const at::Tensor& logits : outputs.answers) gradients.push_back(logits.grad());
    return gradients;
  };
  const auto whole = pass(1);
  for (const int64_t parts : {2, 4, 8}) {
    const auto divided = pass(parts);
    for (std::size_t i = 0; i < whole.size(); ++i)
      EXPECT_LE(testing::largest_difference(divided[i], whole[i]), 1e-14) << parts << " " << i;
  }
}

}  // namespace
}  // namespace larmor::xray_vqa
