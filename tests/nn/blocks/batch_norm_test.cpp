// Of a rank on its own; over several ranks in tests/parallel/batch_norm_over_ranks_test.cpp.
#include "larmor/nn/blocks/batch_norm.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>

#include "larmor/base/error.h"
#include "larmor/device/rank_sum.h"

#include "tests/nn/support/golden.h"

namespace larmor::nn {
namespace {

/// Has to stay shut: whoever asks for a sum fails the test.
struct Shut final : RankSum {
  explicit Shut(int of) : count(of) {}
  int ranks() const override { return count; }
  void add_up(const at::Tensor&) override { ADD_FAILURE() << "a sum that nobody needs"; }
  int count;
};

at::Tensor voxels() { return testing::rule_input("voxels", {4, 3, 2, 3, 4}, -1, 3).to(at::kFloat); }

void expect_libtorchs_bits(bool training) {
  BatchNorm norm(3);
  torch::nn::BatchNorm3d plain(3);
  norm.train(training);
  plain->train(training);
  const at::Tensor input = voxels().requires_grad_(), same = voxels().requires_grad_();
  const at::Tensor output = norm.forward(input), expected = plain->forward(same);
  EXPECT_TRUE(output.equal(expected));
  output.square().sum().backward();
  expected.square().sum().backward();
  EXPECT_TRUE(input.grad().equal(same.grad()));
  for (const auto& item : plain->named_parameters())
    EXPECT_TRUE(norm.named_parameters()[item.key()].grad().equal(item.value().grad())) << item.key();
  for (const auto& item : plain->named_buffers())
    EXPECT_TRUE(norm.named_buffers()[item.key()].equal(item.value())) << item.key();
}

TEST(BatchNorm, IsLibtorchsToTheBitOnOneRank) {
  for (const bool training : {true, false}) {
    expect_libtorchs_bits(training);
    Shut one(1);
    const RankSumScope scope(&one);
    expect_libtorchs_bits(training);
  }
}

TEST(BatchNorm, AsksNobodyInEvaluation) {
  Shut many(4);
  const RankSumScope scope(&many);
  expect_libtorchs_bits(/*training=*/false);
}

TEST(BatchNorm, HasLibtorchsNamesInItsOrder) {
  const BatchNorm norm(3);
  std::vector<std::string> names;
  for (const auto& item : norm.named_parameters()) names.push_back(item.key());
  for (const auto& item : norm.named_buffers()) names.push_back(item.key());
  EXPECT_EQ(names, (std::vector<std::string>{"weight", "bias", "running_mean", "running_var",
                                             "num_batches_tracked"}));
}

TEST(BatchNorm, RefusesTheVarianceOfASingleValue) {
  BatchNorm norm(3);
  EXPECT_THROW(norm.forward(at::ones({1, 3, 1, 1, 1})), Error);
  EXPECT_EQ(norm.named_buffers()["num_batches_tracked"].item<int64_t>(), 0);
  norm.eval();
  EXPECT_EQ(norm.forward(at::ones({1, 3, 1, 1, 1})).numel(), 3);
}

/// As ZeRO has them in mixed precision: the running statistics stay as wide as they were.
TEST(BatchNorm, TakesWeightsThatAreNarrowerThanItsStatistics) {
  for (const at::ScalarType type : {at::kBFloat16, at::kHalf}) {
    for (const bool training : {true, false}) {
      BatchNorm wide(3), narrow(3);
      wide.train(training);
      narrow.train(training);
      for (at::Tensor& parameter : narrow.parameters()) parameter.set_data(parameter.to(type));
      const at::Tensor input = voxels().to(type);
      const at::Tensor output = narrow.forward(input);
      EXPECT_EQ(output.scalar_type(), type);
      EXPECT_TRUE(output.equal(wide.forward(input))) << "weights of 1 and 0 are exact in any type";
      EXPECT_TRUE(narrow.named_buffers()["running_var"].equal(wide.named_buffers()["running_var"]));
      output.to(at::kFloat).square().sum().backward();
      EXPECT_EQ(narrow.named_parameters()["weight"].grad().scalar_type(), type);
    }
  }
}

TEST(BatchNorm, MovesToAnotherTypeAsAWhole) {
  BatchNorm norm(3);
  norm.to(at::kDouble);
  norm.forward(voxels().to(at::kDouble));
  EXPECT_EQ(norm.named_buffers()["running_mean"].scalar_type(), at::kDouble);
  EXPECT_GT(norm.named_buffers()["running_mean"].abs().sum().item<double>(), 0) << "its own buffers move";
}

}  // namespace
}  // namespace larmor::nn
