#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/transforms/transforms.h"

namespace larmor {
namespace {

Volume counting_crop(int64_t x, int64_t y, int64_t z) {
  return {at::arange(2 * x * y * z, at::kFloat).view({2, x, y, z}), identity_affine()};
}

TEST(Crop, TakesTheCentreAsMonaiCountsIt) {
  // start = size / 2 - roi / 2, both rounded down: 5 / 2 - 4 / 2 = 0, 4 / 2 - 3 / 2 = 1, 6 / 2 - 2 / 2 = 2.
  const Volume source = counting_crop(5, 4, 6);
  const Volume crop = center_crop(source, {4, 3, 2});
  EXPECT_TRUE(crop.voxels.equal(source.voxels.narrow(1, 0, 4).narrow(2, 1, 3).narrow(3, 2, 2)));
  EXPECT_EQ(position(crop.affine, {}), (std::array<double, 3>{0, 1, 2}));
}

TEST(Crop, TakesAnAxisWholeThatIsShorterOrNotAskedFor) {
  const Volume crop = center_crop(counting_crop(5, 4, 6), {10, -1, 0});
  EXPECT_EQ(crop.voxels.sizes(), (std::vector<int64_t>{2, 5, 4, 6}));
}

TEST(Crop, LivesInMemoryOfItsOwn) {
  for (const std::vector<int64_t>& size : {std::vector<int64_t>{5, 4, 6}, {2, 2, 2}, {5, 4, 2}, {2, 4, 6}}) {
    const Volume source = counting_crop(5, 4, 6);
    const Volume crop = center_crop(source, size);
    EXPECT_FALSE(crop.voxels.is_alias_of(source.voxels));
    EXPECT_TRUE(crop.voxels.is_contiguous());
    EXPECT_EQ(crop.voxels.storage().nbytes(), crop.voxels.nbytes());
  }
}

TEST(Crop, MovesTheAffineByItsCorner) {
  Volume source = counting_crop(5, 4, 6);
  source.affine = {{{0, -2, 0, 1}, {3, 0, 0, 2}, {0, 0, 4, 3}, {0, 0, 0, 1}}};
  const Volume crop = crop_at(source, {1, 2, 3}, {2, 2, 2});
  EXPECT_EQ(position(crop.affine, {}), position(source.affine, {1, 2, 3}));
}

TEST(Crop, RefusesANumberOfSizesThatIsNotThree) {
  EXPECT_THROW(center_crop(counting_crop(2, 2, 2), {1, 1}), Error);
}

}  // namespace
}  // namespace larmor
