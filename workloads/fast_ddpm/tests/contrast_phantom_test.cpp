#include "workloads/fast_ddpm/denoiser/contrast_phantom.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace larmor::fast_ddpm {
namespace {

TEST(ContrastPhantom, ShowsOneHeadInContrastsThatDiffer) {
  const Volume head = make_contrast_phantom(1, 2, {32, 32, 32}, 4);
  ASSERT_EQ(head.voxels.sizes().vec(), (std::vector<int64_t>{4, 32, 32, 32}));
  const at::Tensor inside = head.voxels[0].ne(0);
  const double share = inside.to(at::kDouble).mean().item<double>();
  EXPECT_GT(share, 0.1);
  EXPECT_LT(share, 0.7);
  const auto correlation = [&](int64_t one, int64_t other) {
    EXPECT_TRUE(head.voxels[other].ne(0).equal(inside)) << "all contrasts are of one head";
    const at::Tensor pair = at::stack(
        {at::masked_select(head.voxels[one], inside), at::masked_select(head.voxels[other], inside)});
    return at::corrcoef(pair)[0][1].item<double>();
  };
  EXPECT_GT(correlation(0, 1), 0.8) << "a contrast agent leaves most as it was";
  EXPECT_LT(correlation(0, 2), 0.3) << "fluid is bright on T2";
  EXPECT_LT(correlation(2, 3), 0.9) << "and dark on FLAIR";
}

TEST(ContrastPhantom, IsAFunctionOfSeedAndNumber) {
  const auto voxels = [](uint64_t seed, int64_t number) {
    return make_contrast_phantom(seed, number, {16, 16, 16}, 4).voxels;
  };
  EXPECT_TRUE(voxels(1, 2).equal(voxels(1, 2)));
  EXPECT_FALSE(voxels(1, 2).equal(voxels(1, 3)));
  EXPECT_FALSE(voxels(1, 2).equal(voxels(2, 2)));
}

}  // namespace
}  // namespace larmor::fast_ddpm
