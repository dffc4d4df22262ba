#include "workloads/latent_diffusion/diffusion/latent_distance.h"

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "workloads/latent_diffusion/tests/noted_metrics.h"

namespace larmor::latent_diffusion {
namespace {

/// Where latents [1, size, size, size] of these values lie.
CaseValues places_of(const std::vector<double>& values, int64_t size = 2) {
  NotedMetrics noted;
  for (size_t i = 0; i < values.size(); ++i)
    note_place(static_cast<int64_t>(i), at::full({1, size, size, size}, values[i]), noted);
  return noted.cases;
}

std::optional<double> nearest(const CaseValues& invented, const CaseValues& training) {
  NotedMetrics noted;
  report_nearest(invented, training, noted);
  const auto found = noted.figures.find("nearest_training_latent");
  return found == noted.figures.end() ? std::nullopt : std::optional(found->second);
}

TEST(LatentDistance, IsToldInDistancesBetweenTrainingLatents) {
  const auto training = places_of({0, 2, 5});
  EXPECT_NEAR(*nearest(places_of({8, 6.5}), training), 0.75, 1e-12);
  EXPECT_NEAR(*nearest(places_of({20}), training), 7.5, 1e-12);
}

TEST(LatentDistance, OfACopyIsNothing) { EXPECT_EQ(*nearest(places_of({8, 5}), places_of({0, 2, 5})), 0); }

TEST(LatentDistance, NamesTheTrainingCaseThatIsNearestToEachInventedOne) {
  const auto pairs = nearest_in_training(places_of({4, 0.5, 2}), places_of({0, 2, 5}));
  ASSERT_EQ(pairs.size(), 3U);
  EXPECT_EQ(pairs[0].training, 2);
  EXPECT_NEAR(pairs[0].ratio, 0.5, 1e-12);
  EXPECT_EQ(pairs[1].invented, 1);
  EXPECT_EQ(pairs[1].training, 0);
  EXPECT_EQ(pairs[2].training, 1);
  EXPECT_EQ(pairs[2].ratio, 0) << "a copy";
  EXPECT_TRUE(std::isnan(nearest_in_training(places_of({4}), places_of({3, 3})).front().ratio));
  EXPECT_TRUE(nearest_in_training(places_of({1}), places_of({0})).empty());
}

TEST(LatentDistance, OfLargeLatentsIsThatOfMeansOverEqualCubes) {
  const auto noted = places_of({1}, /*size=*/21);
  EXPECT_EQ(noted.size(), 7U * 7U * 7U) << "cubes of three voxels an axis: of two there would be 1331";
  for (const auto& [name, values] : noted) EXPECT_NEAR(values.front().second, 1, 1e-12) << name;
  EXPECT_NEAR(*nearest(places_of({4}, 21), places_of({0, 2}, 21)), 1, 1e-12);
}

TEST(LatentDistance, WantsTwoTrainingCasesThatDiffer) {
  EXPECT_FALSE(nearest(places_of({1}), places_of({0})));
  EXPECT_FALSE(nearest(places_of({1}), places_of({3, 3})));
  EXPECT_FALSE(nearest({}, places_of({0, 2})));
}

}  // namespace
}  // namespace larmor::latent_diffusion
