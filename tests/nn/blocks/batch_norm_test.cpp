// Of a rank on its own; over several ranks in tests/parallel/batch_norm_over_ranks_test.cpp.
#include "larmor/nn/blocks/batch_norm.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>

#include "larmor/base/error.h"
#include "larmor/device/memory/memory_meter.h"
#include "larmor/device/meta/meta_kernels.h"
#include "larmor/device/meta/meta_memory.h"
#include "larmor/device/rank_sum.h"
#include "larmor/device/recompute.h"

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

void expect_close_to(const at::Tensor& actual, const at::Tensor& expected, const std::string& what) {
  const double tolerance = actual.scalar_type() == at::kDouble ? 1e-12 : 1e-6;
  const double scale = std::max(1.0, expected.abs().max().item<double>());
  EXPECT_LE((actual.to(at::kDouble) - expected).abs().max().item<double>(), tolerance * scale) << what;
}

/// libtorch's own computes in float64: what it makes of the same numbers is nearer to the truth than either's
/// float32.
void expect_libtorchs(bool training, at::ScalarType type, Behind behind, bool adds) {
  BatchNorm norm(3, at::kCPU, behind);
  torch::nn::BatchNorm3d plain(3);
  norm.to(type);
  norm.train(training);
  plain->to(at::kDouble);
  plain->train(training);
  const at::Tensor given = voxels().to(type), more = adds ? given.flip(0) : at::Tensor();
  const at::Tensor input = given.clone().requires_grad_();
  const at::Tensor same = given.to(at::kDouble).clone().requires_grad_();
  const at::Tensor output = norm.forward_onto(input, more);
  at::Tensor expected = plain->forward(same);
  if (adds) expected = expected + more;
  if (behind == Behind::relu) expected = expected.relu();
  EXPECT_EQ(output.scalar_type(), type);
  expect_close_to(output, expected, "output");
  // No sum of the gradient is nearly zero, where float32 would have no digits to compare.
  const at::Tensor slopes = testing::rule_input("slopes", {4, 3, 2, 3, 4}, 0, 1).to(type);
  (output * slopes).sum().backward();
  (expected * slopes).sum().backward();
  expect_close_to(input.grad(), same.grad(), "gradient of the input");
  for (const auto& item : plain->named_parameters())
    expect_close_to(norm.named_parameters()[item.key()].grad(), item.value().grad(), item.key());
  for (const auto& item : plain->named_buffers())
    expect_close_to(norm.named_buffers()[item.key()], item.value(), item.key());
}

void expect_libtorchs(bool training) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    for (const Behind behind : {Behind::nothing, Behind::relu}) {
      for (const bool adds : {false, true}) expect_libtorchs(training, type, behind, adds);
    }
  }
}

TEST(BatchNorm, IsLibtorchsOnOneRank) {
  for (const bool training : {true, false}) {
    expect_libtorchs(training);
    Shut one(1);
    const RankSumScope scope(&one);
    expect_libtorchs(training);
  }
}

TEST(BatchNorm, AsksNobodyInEvaluation) {
  Shut many(4);
  const RankSumScope scope(&many);
  expect_libtorchs(/*training=*/false);
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

TEST(BatchNorm, LeavesNothingBehindWhereItIsComputedAgain) {
  start_memory_meter();
  BatchNorm norm(3, at::kCPU, Behind::relu);
  const at::Tensor input = voxels().requires_grad_();
  const auto step = [&] {
    const auto onto_itself = [&](const std::vector<at::Tensor>& of) {
      return std::vector<at::Tensor>{norm.forward_onto(of[0], of[0])};
    };
    run_recomputed(onto_itself, {input}, norm.parameters(), norm.buffers())[0].sum().backward();
  };
  step();  // from here on there are gradients
  const int64_t held = metered_memory().held;
  for (int again = 0; again < 3; ++again) step();
  EXPECT_EQ(metered_memory().held, held);
}

// The plan counts a step on the meta device: a leaf, the norm's input, its result and the gradients of both
// are there at once. The gradient before ReLU is no map of its own.
TEST(BatchNorm, TakesFiveMapsForwardAndBackwardOnTheMetaDevice) {
  register_meta_kernels();
  BatchNorm norm(4, at::kMeta, Behind::relu);
  const MetaMemoryScope memory;
  const at::Tensor leaf = at::ones({2, 4, 16, 16, 16}, at::TensorOptions(at::kMeta)).requires_grad_();
  {
    const at::Tensor result = norm.forward(leaf * 2);
    result.backward(at::empty_like(result));
  }
  EXPECT_EQ(memory.peak() / static_cast<int64_t>(leaf.nbytes()), 5);
}

}  // namespace
}  // namespace larmor::nn
