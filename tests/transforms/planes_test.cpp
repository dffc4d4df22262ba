#include "larmor/transforms/planes.h"

#include <optional>
#include <string>
#include <tuple>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/transforms/transforms.h"

namespace larmor::testing {
namespace {

float value_of(const PanelPlane& plane, int row, int column) {
  return plane.values[static_cast<std::size_t>(row * plane.columns + column)];
}

/// Axes that point right, anterior and superior, of voxels of 2 x 3 x 4 mm.
Affine ras_grid() {
  Affine grid = identity_affine();
  grid[0][0] = 2;
  grid[1][1] = 3;
  grid[2][2] = 4;
  return grid;
}

TEST(CentrePlanes, HaveTheMarkedSideWhereItsLetterIs) {
  auto volume = at::zeros({5, 7, 9});
  volume[4][3][4] = 1;  // right
  volume[2][6][4] = 2;  // anterior
  volume[2][3][8] = 3;  // superior
  const auto planes = centre_planes(volume, ras_grid());
  ASSERT_EQ(planes.size(), 3U);
  const auto& [sagittal, coronal, axial] = std::tie(planes[0], planes[1], planes[2]);
  EXPECT_EQ(sagittal.name, "sagittal");
  EXPECT_EQ(sagittal.left + sagittal.right + sagittal.top + sagittal.bottom, "APSI");
  EXPECT_EQ(value_of(sagittal, 4, 0), 2) << "anterior on the left";
  EXPECT_EQ(value_of(sagittal, 0, 3), 3) << "superior up";
  EXPECT_EQ(sagittal.column_width, 3);
  EXPECT_EQ(sagittal.row_height, 4);
  EXPECT_EQ(coronal.name, "coronal");
  EXPECT_EQ(coronal.left + coronal.right + coronal.top + coronal.bottom, "RLSI");
  EXPECT_EQ(value_of(coronal, 4, 0), 1) << "the patient's right on the left";
  EXPECT_EQ(value_of(coronal, 0, 2), 3);
  EXPECT_EQ(axial.name, "axial");
  EXPECT_EQ(axial.left + axial.right + axial.top + axial.bottom, "RLAP");
  EXPECT_EQ(value_of(axial, 3, 0), 1);
  EXPECT_EQ(value_of(axial, 0, 2), 2);
  EXPECT_EQ(axial.column_width, 2);
  EXPECT_EQ(axial.row_height, 3);
  EXPECT_EQ(axial.columns, 5);
  EXPECT_EQ(axial.rows, 7);
}

TEST(CentrePlanes, AreTheSameInWhateverOrderTheAxesLie) {
  const auto voxels = at::arange(1 * 5 * 7 * 9, at::kFloat).view({1, 5, 7, 9});
  const auto wanted = centre_planes(voxels[0], ras_grid());
  for (const std::string codes : {"LPS", "PIR", "SAL", "ASR", "ILA"}) {
    const Volume turned = orient({.voxels = voxels, .affine = ras_grid()}, codes);
    const auto found = centre_planes(turned.voxels[0], turned.affine);
    for (std::size_t plane = 0; plane < 3; ++plane) {
      EXPECT_EQ(found[plane].values, wanted[plane].values) << codes << " " << wanted[plane].name;
      EXPECT_EQ(found[plane].left, wanted[plane].left) << codes;
      EXPECT_EQ(found[plane].column_width, wanted[plane].column_width) << codes;
      EXPECT_EQ(found[plane].row_height, wanted[plane].row_height) << codes;
    }
  }
}

TEST(CentrePlanes, ClaimNothingWhereTheGridIsNotKnown) {
  const auto volume = at::rand({4, 6, 8});
  for (const auto& grid : {std::optional<Affine>(), std::optional(Affine{})}) {
    const auto planes = centre_planes(volume, grid);
    ASSERT_EQ(planes.size(), 3U);
    EXPECT_EQ(planes[0].name, "across axis 1");
    EXPECT_EQ(planes[0].left + planes[0].top, "");
    EXPECT_EQ(planes[2].columns, 4);
    EXPECT_EQ(planes[2].rows, 6);
    EXPECT_EQ(planes[2].column_width, 1);
    EXPECT_EQ(value_of(planes[2], 0, 1), volume[1][5][4].item<float>());
  }
}

}  // namespace
}  // namespace larmor::testing
