#include "workloads/xray_vqa/network/region_pooling.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace larmor::xray_vqa {
namespace {

TEST(RegionPooling, TakesTheMeanOfTheCellsThatABoxCovers) {
  const at::Tensor map = at::arange(2 * 4 * 6, at::kDouble).view({1, 2, 4, 6});
  const at::Tensor boxes = at::tensor({0.2, 0.3, 0.7, 0.8,    // columns 1 to 3, rows 1 and 2
                                       0.5, 0.5, 0.51, 0.52,  // one cell
                                       1.0, 1.0, 1.0, 1.0,    // the last one
                                       0.0, 0.0, 1.0, 1.0})
                               .view({1, 4, 4});
  const at::Tensor pooled = pool_regions(map, boxes, at::ones({1, 4}, at::kBool));
  const auto cut = [&](int64_t top, int64_t bottom, int64_t left, int64_t right) {
    return map[0].slice(1, top, bottom).slice(2, left, right).mean({1, 2});
  };
  EXPECT_TRUE(at::allclose(pooled[0][0], cut(1, 3, 1, 4)));
  EXPECT_TRUE(at::allclose(pooled[0][1], cut(2, 3, 3, 4)));
  EXPECT_TRUE(at::allclose(pooled[0][2], cut(3, 4, 5, 6)));
  EXPECT_TRUE(at::allclose(pooled[0][3], cut(0, 4, 0, 6)));
}

TEST(RegionPooling, TakesTheWholeMapWhereThereIsNoBox) {
  const at::Tensor map = at::rand({2, 3, 5, 5});
  at::Tensor mask = at::zeros({2, 2}, at::kBool);
  mask[0][0] = true;
  const at::Tensor pooled = pool_regions(map, at::zeros({2, 2, 4}), mask);
  EXPECT_TRUE(at::allclose(pooled[1][0], map[1].mean({1, 2})));
  EXPECT_TRUE(at::allclose(pooled[0][0], map[0].select(1, 0).select(1, 0)));
  EXPECT_EQ(pooled.select(1, 1).abs().max().item<float>(), 0);
  EXPECT_TRUE(at::equal(looked_at(mask), at::tensor({1, 0, 1, 0}).view({2, 2}).to(at::kBool)));
}

TEST(RegionPooling, GivesCountsWithoutValuesOnTheMetaDevice) {
  const at::Tensor pooled = pool_regions(at::empty({2, 3, 5, 5}, at::kMeta), at::empty({2, 4, 4}, at::kMeta),
                                         at::empty({2, 4}, at::TensorOptions(at::kMeta).dtype(at::kBool)));
  EXPECT_EQ(pooled.sizes().vec(), (std::vector<int64_t>{2, 4, 3}));
}

TEST(RegionPooling, MeansOfNothingAreZero) {
  const at::Tensor tokens = at::ones({2, 3, 4});
  at::Tensor mask = at::zeros({2, 3}, at::kBool);
  mask[0][1] = true;
  const at::Tensor means = masked_mean(tokens, mask);
  EXPECT_EQ(means[0].sum().item<float>(), 4);
  EXPECT_EQ(means[1].sum().item<float>(), 0);
}

}  // namespace
}  // namespace larmor::xray_vqa
