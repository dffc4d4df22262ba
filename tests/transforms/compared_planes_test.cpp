#include "larmor/transforms/compared_planes.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace larmor {
namespace {

TEST(ComparedPlanes, AreThoseOfBothVolumesAndOfTheirDifferenceByAScaleOfItsOwn) {
  const auto target = at::full({4, 5, 6}, 0.75), result = at::full({4, 5, 6}, 1.0);
  const auto images =
      compared_images({"target", target}, {"result", result}, "|difference|", identity_affine());
  ASSERT_EQ(images.size(), 3U);
  const auto panel = comparing_panel("both", -1, 1, identity_affine());
  EXPECT_EQ(panel.unit_of_length, "mm");
  for (std::size_t i = 0; i < images.size(); ++i) {
    ASSERT_EQ(images[i].planes.size(), 3U);
    EXPECT_EQ(images[i].planes[0].values.front(), std::vector<float>({0.75F, 1, 0.25F})[i]);
    EXPECT_EQ(panel.scales[images[i].scale].title, i == 2 ? "|difference|" : "scaled intensity");
  }
  EXPECT_EQ(panel.scales[0].low, -1);
  EXPECT_EQ(images[2].title, "|difference|");
  EXPECT_EQ(comparing_panel("both", 0, 1, std::nullopt).unit_of_length, "voxels");
}

}  // namespace
}  // namespace larmor
