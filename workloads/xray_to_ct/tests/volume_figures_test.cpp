#include "workloads/xray_to_ct/stage/volume_figures.h"

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace larmor::xray_to_ct {
namespace {

TEST(VolumeFigures, CountLungsToTheBodyAndAirAroundItNot) {
  const at::Tensor hu = at::full({9, 5, 9}, -1000.0);
  hu.slice(0, 2, 7).slice(2, 1, 8).fill_(40);
  hu.slice(0, 4, 5).slice(2, 3, 6).fill_(-850);  // a lung
  const at::Tensor body = body_of(hu);
  EXPECT_TRUE(body[4][2][4].item<bool>());
  EXPECT_FALSE(body[0][2][4].item<bool>());
  EXPECT_FALSE(body[4][2][0].item<bool>());
  EXPECT_EQ(body.sum().item<int64_t>(), 5 * 5 * 7);
}

TEST(VolumeFigures, CountEverythingWhereNothingIsTissue) {
  EXPECT_TRUE(body_of(at::full({3, 3, 3}, -1000.0)).all().item<bool>());
}

TEST(VolumeFigures, MeasurePsnrOnTheScaleFromZeroToOne) {
  const at::Tensor truth = at::zeros({4, 4, 4}), volume = truth + 0.2;
  EXPECT_NEAR(volume_psnr(volume, truth), -20 * std::log10(0.1), 1e-4);
}

TEST(VolumeFigures, ShrinkTheWindowOfSsimToSmallVolumes) {
  const at::Tensor truth = at::rand({8, 12, 12}) * 2 - 1;
  EXPECT_NEAR(volume_ssim(truth, truth), 1, 1e-6);
  EXPECT_LT(volume_ssim(at::rand({8, 12, 12}) * 2 - 1, truth), 0.5);
}

TEST(VolumeFigures, CorrelateEachViewByItself) {
  const at::Tensor images = at::randn({2, 6, 6});
  const at::Tensor scale = at::tensor({2.0, 5.0}).view({2, 1, 1});
  EXPECT_NEAR(mean_correlation(images * scale + scale, images), 1, 1e-6);
  const at::Tensor half_turned = at::stack({images[0], -images[1]});
  EXPECT_NEAR(mean_correlation(half_turned, images), 0, 1e-6);
}

}  // namespace
}  // namespace larmor::xray_to_ct
