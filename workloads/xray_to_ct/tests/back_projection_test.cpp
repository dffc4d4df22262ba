#include "workloads/xray_to_ct/stage/back_projection.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/kernels/projector/projector.h"

#include "workloads/xray_to_ct/data/pair_dataset.h"

namespace larmor::xray_to_ct {
namespace {

constexpr int64_t size = 12, pixels = 16;

/// Radiographs of a volume [D, H, W], as pairs have them.
at::Tensor seen(const at::Tensor& volume, const at::Tensor& rays, const PairConfig& config) {
  const at::Tensor intensity = at::tensor({0.5F, -1.0F}).expand({1, rays.size(0), 2});
  return radiographs_of(volume.unsqueeze(0).unsqueeze(0), rays.unsqueeze(0), intensity, pixels, pixels,
                        config)
      .squeeze(2)[0];
}

class BackProjection : public ::testing::Test {
 protected:
  void SetUp() override {
    config_.radiograph_size = pixels;
    rays_ = ray_geometry(config_.views(2), config_.positions(size));
    truth_ = at::full({size, size, size}, -1.0F);
    truth_.slice(0, 3, 9).slice(1, 2, 10).slice(2, 3, 8).fill_(-0.48F);
  }
  double distance(const at::Tensor& radiographs, const at::Tensor& rays) const {
    return at::mse_loss(back_projected(radiographs, rays, truth_), truth_).item<double>();
  }

  PairConfig config_;
  at::Tensor rays_, truth_;
};

TEST_F(BackProjection, IsNearerToTheTruthThanItsMeanAndWithTwoViewsNearerThanWithOne) {
  const at::Tensor radiographs = seen(truth_, rays_, config_);
  const double of_mean = (truth_ - truth_.mean()).square().mean().item<double>();
  const double one = distance(radiographs.narrow(0, 0, 1), rays_.narrow(0, 0, 1));
  const double two = distance(radiographs, rays_);
  EXPECT_LT(one, 0.8 * of_mean);
  EXPECT_LT(two, 0.8 * one);
}

TEST_F(BackProjection, DoesNotDependOnTheScaleOfARadiograph) {
  const at::Tensor radiographs = seen(truth_, rays_, config_);
  EXPECT_TRUE(at::allclose(back_projected(radiographs * 3 - 2, rays_, truth_),
                           back_projected(radiographs, rays_, truth_), 1e-3, 1e-3));
}

TEST_F(BackProjection, OfViewsWithoutContrastIsTheMean) {
  const at::Tensor flat = at::full({2, pixels, pixels}, -1.0F);
  const at::Tensor volume = back_projected(flat, rays_, truth_);
  EXPECT_LE(at::mse_loss(volume, truth_).item<double>(),
            (truth_ - truth_.mean()).square().mean().item<double>() + 1e-6);
  EXPECT_TRUE(volume.isfinite().all().item<bool>());
}

}  // namespace
}  // namespace larmor::xray_to_ct
