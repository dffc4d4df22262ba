#include "larmor/nn/metrics/overlap.h"

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace larmor::nn {
namespace {

at::Tensor voxels(std::initializer_list<int64_t> classes) {
  return at::tensor(classes).view({1, 1, 1, 1, static_cast<int64_t>(classes.size())});
}

TEST(Overlap, KnowsWhereEachClassIs) {
  const at::Tensor where = as_one_hot(voxels({0, 2, 1, 2}).to(at::kFloat), 3);
  EXPECT_TRUE(
      where.equal(at::tensor({1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 1}).to(at::kBool).view({1, 3, 1, 1, 4})));
}

/// Class 0: 2 of 3 and 2; class 1: 1 of 1 and 2; class 2: 0 of 0 and 0; class 3: 0 of 1 and 0.
TEST(Overlap, IsDicesCoefficientOfEachClass) {
  const at::Tensor value = dice(voxels({0, 0, 0, 1, 3}), voxels({0, 0, 1, 1, 1}), 4);
  EXPECT_EQ(value.sizes(), at::IntArrayRef({1, 4}));
  EXPECT_DOUBLE_EQ(value[0][0].item<double>(), 4.0 / 5);
  EXPECT_DOUBLE_EQ(value[0][1].item<double>(), 2.0 / 4);
  EXPECT_TRUE(std::isnan(value[0][2].item<double>())) << "neither has the class";
  EXPECT_EQ(value[0][3].item<double>(), 0) << "predicted, and not there";
}

/// monai.metrics.compute_dice (1.6) of the same, which prints four digits.
TEST(Overlap, IsMonais) {
  const at::Tensor logits =
      ((at::arange(2 * 3 * 4 * 3 * 2, at::kDouble) * 0.37).sin() * 2).view({2, 3, 4, 3, 2});
  const at::Tensor truth = (at::arange(2 * 4 * 3 * 2) * 7).remainder(11).remainder(3).view({2, 1, 4, 3, 2});
  const at::Tensor value = dice(logits.argmax(1, true), truth, 4);
  const at::Tensor monai = at::tensor({0.3158, 0.2353, 0.3333, 0.2500, 0.3750, 0.2500}, at::kDouble);
  EXPECT_TRUE(value.narrow(1, 0, 3).flatten().allclose(monai, 0, 5e-5)) << value;
  EXPECT_TRUE(value.select(1, 3).isnan().all().item<bool>());
}

TEST(Overlap, CountsMoreVoxelsThanFloat32CanTellApart) {
  const at::Tensor truth = at::zeros({1, 1, 260, 256, 256}, at::kByte);
  at::Tensor predicted = truth.clone();
  predicted[0][0][0][0][0] = 1;
  const double all = 260.0 * 256 * 256;
  EXPECT_DOUBLE_EQ(dice(predicted, truth, 2)[0][0].item<double>(), 2 * (all - 1) / (2 * all - 1));
}

}  // namespace
}  // namespace larmor::nn
