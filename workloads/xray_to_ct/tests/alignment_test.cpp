#include "workloads/xray_to_ct/data/alignment.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace larmor::xray_to_ct::testing {
namespace {

TEST(Alignment, CorrelationIsOneOfWhatDiffersInBrightnessAlone) {
  const at::Tensor image = at::tensor({1.0, 2.0, 4.0, 3.0}, at::kDouble).view({2, 2});
  EXPECT_NEAR(correlation_of(image, 3 * image - 7), 1, 1e-12);
  EXPECT_NEAR(correlation_of(image, -image), -1, 1e-12);
  // By hand: deviations -1.5 -0.5 1.5 0.5 and -1.5 -0.5 0.5 1.5; 4 / 5.
  EXPECT_NEAR(correlation_of(image, at::tensor({1.0, 2.0, 3.0, 4.0}, at::kDouble).view({2, 2})), 0.8, 1e-12);
  EXPECT_EQ(correlation_of(image, at::ones({2, 2}, at::kDouble)), 0);
}

TEST(Alignment, TheFittedBrightnessIsTheOneThatWasApplied) {
  const at::Tensor integrals = at::arange(12, at::kFloat).view({3, 4});
  const Intensity intensity = fitted_intensity(integrals, 0.25 * integrals - 1);
  EXPECT_NEAR(intensity.scale, 0.25, 1e-6);
  EXPECT_NEAR(intensity.offset, -1, 1e-6);
  EXPECT_EQ(fitted_intensity(at::ones({2, 2}), at::eye(2)).scale, 0);
}

}  // namespace
}  // namespace larmor::xray_to_ct::testing
