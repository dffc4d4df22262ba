#include "larmor/data/image_pair.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace larmor {
namespace {

TEST(ImagePair, IsAnArchiveOfTwoChannels) {
  const Volume two{at::zeros({2, 3, 3, 3})}, one{at::zeros({1, 3, 3, 3})};
  EXPECT_TRUE(holds_a_pair("a/b.NPZ", two));
  EXPECT_FALSE(holds_a_pair("a/b.npz", one));
  EXPECT_FALSE(holds_a_pair("a/b.nii.gz", two));
}

TEST(ImagePair, HasTheImageFirst) {
  Volume pair{at::stack({at::full({3, 3, 3}, 1.0F), at::full({3, 3, 3}, 2.0F)})};
  pair.affine[0][0] = 4;
  const auto [image, label] = apart(pair);
  EXPECT_TRUE(at::equal(image.voxels, at::full({1, 3, 3, 3}, 1.0F)));
  EXPECT_TRUE(at::equal(label.voxels, at::full({1, 3, 3, 3}, 2.0F)));
  EXPECT_EQ(image.affine, pair.affine);
  EXPECT_EQ(label.affine, pair.affine);
}

}  // namespace
}  // namespace larmor
