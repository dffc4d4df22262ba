#include "workloads/xray_to_ct/data/alignment.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "workloads/xray_to_ct/data/chest_phantom.h"
#include "workloads/xray_to_ct/data/radiograph_pair.h"

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

TEST(Alignment, RadiographsOfOtherPatientsCorrelateLess) {
  PairConfig config;
  config.radiograph_size = 64;
  std::vector<RadiographPair> pairs;
  for (int64_t number = 0; number < 8; ++number)
    pairs.push_back(compute_pair(draw_chest(chest_parts(9, number), 400, 64), config, 2, 32));
  double own = 1, others = -1, sum = 0;
  for (const RadiographPair& pair : pairs) {
    const at::Tensor projected = line_integrals(pair.volume, pair.views, config);
    for (const RadiographPair& other : pairs) {
      const double correlation = correlation_in_shadow(projected[0], other.radiographs[0]);
      (&pair == &other ? own : others) =
          &pair == &other ? std::min(own, correlation) : std::max(others, correlation);
      sum += &pair == &other ? 0 : correlation / 56;
    }
  }
  EXPECT_GT(own, 0.99);
  EXPECT_LT(others, own);
  EXPECT_LT(sum, 0.95) << "invented chests are much alike";
}

}  // namespace
}  // namespace larmor::xray_to_ct::testing
