#include "larmor/transforms/resample_like.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/transforms/transforms.h"

namespace larmor::testing {
namespace {

// A volume whose value is a linear function of the place in the body: every trilinear sample is exact.
Volume ramp(const Affine& affine, const std::array<int64_t, 3>& size) {
  Volume volume{.voxels = at::empty({1, size[0], size[1], size[2]}), .affine = affine};
  auto voxels = volume.voxels.accessor<float, 4>();
  for (int64_t i = 0; i < size[0]; ++i) {
    for (int64_t j = 0; j < size[1]; ++j) {
      for (int64_t k = 0; k < size[2]; ++k) {
        const auto place = [&](size_t row) {
          return affine[row][0] * static_cast<double>(i) + affine[row][1] * static_cast<double>(j) +
                 affine[row][2] * static_cast<double>(k) + affine[row][3];
        };
        voxels[0][i][j][k] = static_cast<float>(place(0) + 2 * place(1) - place(2));
      }
    }
  }
  return volume;
}

const Affine flipped{{{-1.5, 0, 0, 30}, {0, 2, 0, -10}, {0, 0, 2.5, 4}, {0, 0, 0, 1}}};

TEST(ResampleLike, BringsAReorientedAndResampledVolumeBackToItsOwnGrid) {
  const std::array<int64_t, 3> size{21, 16, 13};
  const auto original = ramp(flipped, size);
  const auto prepared = resample(orient(original), {1, 1, 1});
  const auto back = resample_like(prepared, original.affine, size);
  // Inside: at the far border the coarser grid may end before the original does.
  const auto inside = [](const at::Tensor& voxels) {
    return voxels.slice(1, 1, 20).slice(2, 1, 15).slice(3, 1, 12);
  };
  EXPECT_LE((inside(back.voxels) - inside(original.voxels)).abs().max().item<double>(), 1e-3);
}

TEST(ResampleLike, RepeatsTheBorderOutside) {
  const Volume volume{.voxels = at::arange(2, at::kFloat).reshape({1, 2, 1, 1}), .affine = identity_affine()};
  const auto wide = resample_like(volume, identity_affine(), {4, 1, 1});
  EXPECT_TRUE(wide.voxels.flatten().equal(at::tensor({0.F, 1.F, 1.F, 1.F})));
}

TEST(ResampleLike, RefusesAnAffineWithoutInverse) {
  const Volume volume{.voxels = at::zeros({1, 2, 2, 2}), .affine = Affine{}};
  EXPECT_THROW(resample_like(volume, identity_affine(), {2, 2, 2}), Error);
}

}  // namespace
}  // namespace larmor::testing
