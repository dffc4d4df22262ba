#include <cmath>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/transforms/transforms.h"

namespace larmor {
namespace {

Volume counting_axes(std::vector<int64_t> size, const Affine& affine) {
  int64_t count = 1;
  for (const int64_t axis : size) count *= axis;
  return {at::arange(count, at::kFloat).view(size), affine};
}

/// Every voxel of `result` must be where the source has the same value.
void expect_same_places(const Volume& source, const Volume& result) {
  const auto back = inverse(source.affine);
  ASSERT_TRUE(back.has_value());
  ASSERT_EQ(result.voxels.numel(), source.voxels.numel());
  for (int64_t x = 0; x < result.voxels.size(1); ++x) {
    for (int64_t y = 0; y < result.voxels.size(2); ++y) {
      for (int64_t z = 0; z < result.voxels.size(3); ++z) {
        const auto world =
            position(result.affine, {static_cast<double>(x), static_cast<double>(y), static_cast<double>(z)});
        const auto index = position(*back, world);
        const auto there = source.voxels.select(1, std::lround(index[0]))
                               .select(1, std::lround(index[1]))
                               .select(1, std::lround(index[2]));
        EXPECT_TRUE(result.voxels.select(1, x).select(1, y).select(1, z).equal(there));
      }
    }
  }
}

Affine permuted(const int order[3], int flips) {
  Affine affine{};
  affine[3][3] = 1;
  for (int axis = 0; axis < 3; ++axis) {
    affine[order[axis]][axis] = (flips >> axis & 1 ? -1 : 1) * (1.0 + axis);
    affine[axis][3] = 10.0 * axis - 7;
  }
  return affine;
}

constexpr int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

TEST(Orientation, TurnsEveryArrangementOfAxesToRightAnteriorSuperior) {
  for (const auto& order : orders) {
    for (int flips = 0; flips < 8; ++flips) {
      const Volume source = counting_axes({2, 3, 4, 5}, permuted(order, flips));
      const Volume result = orient(source);
      for (int row = 0; row < 3; ++row) {
        for (int column = 0; column < 3; ++column) {
          EXPECT_EQ(result.affine[row][column] > 0, row == column);
        }
      }
      expect_same_places(source, result);
    }
  }
}

TEST(Orientation, FollowsTheCodes) {
  const Volume source = counting_axes({1, 3, 4, 5}, identity_affine());
  const Volume result = orient(source, "PIR");
  EXPECT_EQ(result.voxels.sizes(), (std::vector<int64_t>{1, 4, 5, 3}));
  EXPECT_EQ(result.affine[1][0], -1);
  EXPECT_EQ(result.affine[2][1], -1);
  EXPECT_EQ(result.affine[0][2], 1);
  expect_same_places(source, result);
}

TEST(Orientation, TakesVoxelsInTheFilesOwnStrides) {
  Volume source = counting_axes({2, 3, 4, 5}, permuted(orders[3], 5));
  const at::Tensor plain = orient(source).voxels.contiguous();
  const at::Tensor contiguous = source.voxels;
  source.voxels = contiguous.permute({0, 3, 2, 1}).contiguous().permute({0, 3, 2, 1});
  EXPECT_TRUE(orient(source).voxels.equal(plain));
  source.voxels = contiguous.permute({1, 2, 3, 0}).contiguous().permute({3, 0, 1, 2});
  EXPECT_TRUE(orient(source).voxels.equal(plain));
  source.voxels = at::stack({contiguous, contiguous}, -1).select(-1, 0);
  EXPECT_TRUE(orient(source).voxels.equal(plain));
}

TEST(Orientation, LeavesTheSourceAlone) {
  const Volume source = counting_axes({1, 3, 4, 5}, permuted(orders[0], 7));
  const at::Tensor before = source.voxels.clone();
  orient(source);
  EXPECT_TRUE(source.voxels.equal(before));
}

TEST(Orientation, ChoosesTheNearestAxisOfAnObliqueScan) {
  const double c = std::cos(0.6), s = std::sin(0.6);
  const Affine oblique{{{-c, 0, -s, 5}, {0, -2, 0, 6}, {-s, 0, c, 7}, {0, 0, 0, 1}}};
  const Volume source = counting_axes({1, 3, 4, 5}, oblique);
  const Volume result = orient(source);
  EXPECT_EQ(result.voxels.sizes(), source.voxels.sizes());
  EXPECT_NEAR(result.affine[0][0], c, 1e-12);
  EXPECT_NEAR(result.affine[1][1], 2, 1e-12);
  expect_same_places(source, result);
}

TEST(Orientation, RefusesCodesThatAreNone) {
  const Volume volume = counting_axes({1, 2, 2, 2}, identity_affine());
  for (const std::string codes : {"", "RA", "RAX", "RRS", "RLS", "RASS", "ras"}) {
    try {
      orient(volume, codes);
      ADD_FAILURE() << codes;
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::usage);
    }
  }
}

TEST(Orientation, RefusesAnAffineWithoutDirections) {
  Affine singular = identity_affine();
  singular[2][2] = 0;
  EXPECT_THROW(orient(counting_axes({1, 2, 2, 2}, singular)), Error);
}

}  // namespace
}  // namespace larmor
