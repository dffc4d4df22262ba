#include "larmor/transforms/planes.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace larmor::testing {
namespace {

TEST(ThreePlanes, ShowSuperiorUpAndRightToTheRight) {
  auto volume = at::zeros({4, 6, 8});
  volume[2][5][7] = 1;  // on the sagittal centre plane: anterior and superior
  const auto image = three_planes(volume, 0, 1);
  ASSERT_EQ(image.height, 8);
  EXPECT_EQ(image.pixels[5], 255) << "the first row is superior, the sixth column anterior";
}

TEST(ThreePlanes, ClampValuesOutsideTheWindowAndDrawNanBlack) {
  auto volume = at::full({2, 2, 2}, 5.0F);
  volume[1][0][0] = std::nanf("");
  const auto image = three_planes(volume, 0, 1);
  EXPECT_EQ(image.pixels[0], 255);
  EXPECT_EQ(image.pixels[static_cast<size_t>(image.width)], 0);
}

}  // namespace
}  // namespace larmor::testing
