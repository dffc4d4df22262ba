#include "larmor/transforms/sampling.h"

#include <cmath>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace larmor {
namespace {

/// The same by libtorch's own operator, which works on coordinates from -1 to 1.
at::Tensor by_grid_sampler(const at::Tensor& voxels, const Affine& map, const GridSize& size,
                           const Sampling& sampling) {
  const auto index = at::meshgrid(
      {at::arange(size[0], at::kDouble), at::arange(size[1], at::kDouble), at::arange(size[2], at::kDouble)},
      "ij");
  std::vector<at::Tensor> coordinates;  // the last axis first
  for (int axis = 2; axis >= 0; --axis) {
    auto at = at::full_like(index[0], map[axis][3]);
    for (int column = 0; column < 3; ++column) at = at + map[axis][column] * index[column];
    coordinates.push_back((2 * at + 1) / static_cast<double>(voxels.size(axis + 1)) - 1);
  }
  const auto grid = at::stack(coordinates, -1).unsqueeze(0);
  const int64_t mode = sampling.interpolation == Interpolation::nearest ? 1 : 0;
  return at::grid_sampler_3d(voxels.unsqueeze(0).to(at::kDouble), grid, mode,
                             static_cast<int64_t>(sampling.outside), /*align_corners=*/false)
      .squeeze(0)
      .to(at::kFloat);
}

/// Turns, shears and shifts, so that a good part of the grid lies outside.
Affine askew() {
  return {{{0.8312, 0.3137, -0.2219, -2.3713},
           {-0.2943, 0.9127, 0.1731, 1.1377},
           {0.2119, -0.1307, 1.0711, -3.4139},
           {0, 0, 0, 1}}};
}

Affine shifted() {
  return {{{0.9127, 0, 0, -2.6713}, {0, 1.2119, 0, 1.4339}, {0, 0, 0.7213, -3.3177}, {0, 0, 0, 1}}};
}

void expect_as_grid_sampler(const at::Tensor& voxels, const Affine& map, const GridSize& size) {
  for (const auto interpolation : {Interpolation::nearest, Interpolation::trilinear}) {
    for (const auto outside : {Outside::zeros, Outside::border, Outside::reflection}) {
      const Sampling sampling{interpolation, outside};
      const auto result = sample(voxels, map, {size, {}, size}, sampling);
      const auto expected = by_grid_sampler(voxels, map, size, sampling);
      ASSERT_EQ(result.sizes(), expected.sizes());
      // A coordinate that is rounded otherwise may fall on another voxel; few do.
      const auto far = (result - expected).abs().gt(2e-5).sum().item<int64_t>();
      EXPECT_LE(far, interpolation == Interpolation::nearest ? result.numel() / 2000 : 0)
          << "interpolation " << static_cast<int>(interpolation) << ", outside " << static_cast<int>(outside);
    }
  }
}

TEST(Sample, EqualsLibtorchsOperatorOnGridsThatLieAskew) {
  at::manual_seed(1);
  expect_as_grid_sampler(at::rand({2, 19, 23, 17}), askew(), {21, 18, 150});
}

TEST(Sample, EqualsLibtorchsOperatorOnParallelGrids) {
  at::manual_seed(2);
  expect_as_grid_sampler(at::rand({1, 19, 23, 17}), shifted(), {30, 18, 40});
}

TEST(Sample, EqualsLibtorchsOperatorWhateverTheOrderInMemory) {
  at::manual_seed(3);
  expect_as_grid_sampler(at::rand({2, 11, 13, 17}).permute({0, 3, 2, 1}), askew(), {13, 15, 70});
}

TEST(Sample, EqualsLibtorchsOperatorOnPictures) {
  at::manual_seed(4);
  const Affine turned{
      {{0.9137, 0.3119, 0, -1.5713}, {-0.3119, 0.9137, 0, 2.5339}, {0, 0, 1, 0}, {0, 0, 0, 1}}};
  expect_as_grid_sampler(at::rand({3, 40, 30, 1}), turned, {44, 41, 1});
}

TEST(Sample, TakesAVolumeOfOneVoxel) {
  const auto one = at::full({1, 1, 1, 1}, 3.0F);
  const auto result = sample(one, askew(), {{4, 4, 4}, {}, {4, 4, 4}}, {});
  EXPECT_TRUE(result.eq(3).all().item<bool>());
}

}  // namespace
}  // namespace larmor
