#include "larmor/nn/metrics/image_metrics.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

#include "tests/nn/support/golden.h"

namespace larmor::nn {
namespace {

using testing::Golden;

void expect_near(const at::Tensor& actual, const at::Tensor& expected, double tolerance) {
  ASSERT_EQ(actual.sizes(), expected.sizes());
  EXPECT_EQ(actual.scalar_type(), at::kDouble);
  EXPECT_LE(testing::largest_difference(actual, expected), tolerance) << actual << expected;
}

void expect_golden_metric(const std::string& dimensions) {
  const Golden golden("image_metrics");
  const at::Tensor target = golden.at("input" + dimensions + "/y");
  const at::Tensor prediction = golden.at("input" + dimensions + "/y_pred");
  const auto metric = [&](const std::string& name) { return golden.at("metric" + dimensions + "/" + name); };
  // The reference computes SSIM in float32 whatever it is given.
  const double float32_error = 5e-6;
  expect_near(ssim(prediction, target), metric("ssim_gaussian11"), float32_error);
  expect_near(ssim(prediction, target, {.data_range = 2}), metric("ssim_gaussian11_range2"), float32_error);
  expect_near(ssim(prediction, target, {.window = 7, .gaussian = false}), metric("ssim_uniform7"),
              float32_error);
  expect_near(psnr(prediction, target, 1), golden.at("metric" + dimensions + "_float64/psnr_max1"), 1e-4);
}

TEST(ImageMetricsGolden, EqualTheReferenceOnAVolume) { expect_golden_metric("3d"); }

TEST(ImageMetricsGolden, EqualTheReferenceOnImages) { expect_golden_metric("2d"); }

TEST(ImageMetrics, GiveTheCheckValues) {
  const at::Tensor target = testing::rule_input("imgA", {2, 1, 16, 16, 16}, 0, 1).to(at::kFloat);
  const at::Tensor noise = testing::rule_input("imgB", {2, 1, 16, 16, 16}, -1, 1).to(at::kFloat);
  const at::Tensor prediction = at::clamp(target + 0.1 * noise, 0, 1);
  EXPECT_NEAR(ssim(prediction, target).mean().item<double>(), 0.98146093, 5e-6);
  EXPECT_NEAR(ssim(prediction, target, {.window = 7, .gaussian = false}).mean().item<double>(), 0.98120290,
              5e-6);
  EXPECT_NEAR(psnr(prediction, target, 1).mean().item<double>(), 24.92240143, 1e-5);
}

TEST(Psnr, FollowsItsFormulaForEachImage) {
  const at::Tensor target = at::zeros({2, 1, 4, 4, 4});
  at::Tensor prediction = at::full({2, 1, 4, 4, 4}, 0.1);
  prediction[1] = 0.5;
  expect_near(psnr(prediction, target, 2), at::tensor({26.0205999, 12.0411998}, at::kDouble), 1e-5);
}

TEST(Ssim, IsOneForEqualImagesAndSeesEachAxis) {
  const at::Tensor image = testing::rule_input("image", {1, 2, 12, 13, 14}, 0, 1);
  expect_near(ssim(image, image), at::ones({1}, at::kDouble), 1e-12);
  const double score = ssim(image, image.roll(1, 2)).item<double>();
  for (const int64_t axis : {3, 4}) {
    const at::Tensor turned = image.transpose(2, axis);
    EXPECT_NEAR(ssim(turned, turned.roll(1, axis)).item<double>(), score, 1e-9);
  }
}

TEST(Ssim, RefusesImagesShorterThanItsWindowNamingTheAxis) {
  try {
    ssim(at::zeros({1, 1, 16, 10, 16}), at::zeros({1, 1, 16, 10, 16}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::data);
    EXPECT_NE(error.message().find("H has 10"), std::string::npos) << error.message();
  }
}

}  // namespace
}  // namespace larmor::nn
