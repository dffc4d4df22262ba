#include "larmor/transforms/loops/area.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace larmor {
namespace {

void expect_as_pooling(const at::Tensor& voxels, const GridSize& size) {
  const auto expected = at::adaptive_avg_pool3d(voxels.unsqueeze(0).contiguous(), size).squeeze(0);
  const auto result = average(voxels, size);
  ASSERT_EQ(result.sizes(), expected.sizes());
  EXPECT_LE((result - expected).abs().max().item<double>(), 1e-5);
}

TEST(Average, EqualsAdaptivePooling) {
  at::manual_seed(1);
  const auto voxels = at::rand({2, 13, 17, 11});
  for (const GridSize& size :
       {GridSize{5, 17, 3}, GridSize{13, 4, 11}, GridSize{1, 1, 1}, GridSize{20, 30, 7}})
    expect_as_pooling(voxels, size);
}

TEST(Average, EqualsAdaptivePoolingWhateverTheOrderInMemory) {
  at::manual_seed(2);
  expect_as_pooling(at::rand({2, 13, 17, 11}).permute({0, 3, 1, 2}), {4, 6, 5});
  expect_as_pooling(at::rand({13, 17, 11, 2}).permute({3, 2, 1, 0}), {4, 6, 5});
}

TEST(Average, TakesPictures) {
  at::manual_seed(3);
  expect_as_pooling(at::rand({3, 201, 199, 1}), {64, 64, 1});
}

}  // namespace
}  // namespace larmor
