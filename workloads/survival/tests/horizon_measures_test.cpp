// Brier scores and AUC at horizons, against scikit-survival and against their definitions.
#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

#include "workloads/survival/risk/brier.h"
#include "workloads/survival/risk/time_auc.h"
#include "workloads/survival/tests/tables.h"

namespace larmor::survival {
namespace {

using testing::doubles;
using testing::golden_file;
using testing::golden_patients;
using testing::Patients;
using testing::random_patients;

std::optional<double> auc_pair_by_pair(const StepCurve& censoring, const Patients& patients, double horizon) {
  const auto& [time, event] = patients.outcomes;
  double pairs = 0, weights = 0;
  for (std::size_t i = 0; i < time.size(); ++i) {
    if (event[i] == 0 || time[i] > horizon || !censoring.reaches(time[i]) || censoring.at(time[i]) <= 0)
      continue;
    for (std::size_t j = 0; j < time.size(); ++j) {
      if (time[j] <= horizon) continue;
      const double weight = 1 / censoring.at(time[i]), ahead = patients.log_risk[i] - patients.log_risk[j];
      pairs += weight * (std::abs(ahead) <= 1e-8 ? 0.5 : ahead > 0 ? 1 : 0);
      weights += weight;
    }
  }
  if (weights <= 0) return {};
  return pairs / weights;
}

TEST(TimeAuc, EqualsTheReference) {
  const NamedTensors golden = golden_file("survival");
  const Patients train = golden_patients(golden, "train"), test = golden_patients(golden, "test");
  const auto horizons = doubles(golden.at("auc/times")),
             expected = doubles(golden.at("auc/sksurv_cumulative_dynamic"));
  const TimeAuc found =
      cumulative_dynamic_auc(censoring_kaplan_meier(train.outcomes), test.log_risk, test.outcomes, horizons);
  ASSERT_EQ(found.at_horizons.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(found.at_horizons[i].value(), expected[i], 1e-12);
  EXPECT_NEAR(found.mean.value(), golden.at("auc/sksurv_mean").item<double>(), 1e-12);
}

TEST(TimeAuc, EqualsEveryPairOfRandomTables) {
  const std::vector<double> horizons = {1, 4, 7.5, 13, 30};
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Patients test = random_patients(seed, 1 + seed % 50, 20, seed % 2 == 0 ? 0.1 : 0.6);
    const StepCurve censoring = censoring_kaplan_meier(random_patients(seed + 500, 30, 15, 0.5).outcomes);
    const TimeAuc found = cumulative_dynamic_auc(censoring, test.log_risk, test.outcomes, horizons);
    for (std::size_t i = 0; i < horizons.size(); ++i) {
      const auto expected = auc_pair_by_pair(censoring, test, horizons[i]);
      ASSERT_EQ(found.at_horizons[i].has_value(), expected.has_value()) << seed;
      if (expected) {
        EXPECT_NEAR(*found.at_horizons[i], *expected, 1e-12) << seed;
      }
    }
    EXPECT_FALSE(found.mean) << "nobody is followed beyond the last horizon";
  }
}

TEST(TimeAuc, HasAMeanOfOneHorizon) {
  const SurvivalOutcomes outcomes{.time = {1, 2, 3}, .event = {1, 1, 0}};
  const std::vector<double> risk = {2, 0, 1}, horizon = {1.5};
  const TimeAuc found = cumulative_dynamic_auc(censoring_kaplan_meier(outcomes), risk, outcomes, horizon);
  EXPECT_DOUBLE_EQ(found.mean.value(), 1);
  EXPECT_TRUE(
      cumulative_dynamic_auc(censoring_kaplan_meier(outcomes), risk, outcomes, {}).at_horizons.empty());
}

TEST(BrierScores, EqualTheReference) {
  const NamedTensors golden = golden_file("survival");
  const Patients train = golden_patients(golden, "train"), test = golden_patients(golden, "test");
  const auto expected = doubles(golden.at("brier/sksurv_brier"));
  const BrierScores found =
      brier_scores(censoring_kaplan_meier(train.outcomes), doubles(golden.at("brier/survival_probability")),
                   test.outcomes, doubles(golden.at("auc/times")));
  ASSERT_EQ(found.at_horizons.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(found.at_horizons[i].value(), expected[i], 1e-12);
  EXPECT_NEAR(found.integrated.value(), golden.at("brier/sksurv_integrated").item<double>(), 1e-12);
}

TEST(BrierScores, AreWhatOneWorksOutByHand) {
  // Nobody of the training table is censored before 4, half of those left at it.
  const StepCurve censoring = censoring_kaplan_meier({.time = {1, 4, 5}, .event = {1, 0, 1}});
  const SurvivalOutcomes outcomes{.time = {2, 3, 4.5}, .event = {1, 0, 1}};
  const std::vector<double> survival = {0.2, 0.1, 0.9, 0.5, 0.6, 0.4}, horizons = {2, 4};
  const BrierScores found = brier_scores(censoring, survival, outcomes, horizons);
  EXPECT_NEAR(found.at_horizons[0].value(), (0.04 + 0.01 + 0.16) / 3, 1e-15);
  EXPECT_NEAR(found.at_horizons[1].value(), (0.01 + 0.36 / 0.5) / 3, 1e-15);
  EXPECT_NEAR(found.integrated.value(), (0.21 / 3 + 0.73 / 3) / 2, 1e-15);
}

TEST(BrierScores, AreMissingWhereTheTrainingTableDoesNotReach) {
  const StepCurve censoring = censoring_kaplan_meier({.time = {1, 3, 4}, .event = {1, 1, 0}});
  const SurvivalOutcomes outcomes{.time = {2, 10}, .event = {1, 0}};
  const BrierScores found =
      brier_scores(censoring, std::vector<double>(6, 0.5), outcomes, std::vector<double>{3, 4, 9});
  EXPECT_TRUE(found.at_horizons[0]);
  EXPECT_FALSE(found.at_horizons[1]);  // everybody left is censored then
  EXPECT_FALSE(found.at_horizons[2]);
  EXPECT_FALSE(found.integrated);
}

/// Scikit-survival 0.23 refuses such times: "all times must be within follow-up time of test data".
TEST(BrierScores, AreMissingWhereTheJudgedTableIsNotFollowedBeyondTheHorizon) {
  const StepCurve censoring = censoring_kaplan_meier({.time = {1, 30, 40}, .event = {1, 1, 0}});
  const SurvivalOutcomes outcomes{.time = {2, 3, 7}, .event = {1, 0, 0}};
  const BrierScores found =
      brier_scores(censoring, std::vector<double>(12, 0.5), outcomes, std::vector<double>{2, 6.9, 7, 20});
  EXPECT_TRUE(found.at_horizons[0]);
  EXPECT_TRUE(found.at_horizons[1]);
  EXPECT_FALSE(found.at_horizons[2]) << "the last patient is censored then";
  EXPECT_FALSE(found.at_horizons[3]) << "all that is left are two patients, one of whom is unknown";
  EXPECT_FALSE(found.integrated);
}

TEST(HorizonMeasures, RefuseWhatIsNoTable) {
  const SurvivalOutcomes outcomes{.time = {1, 2}, .event = {1, 0}};
  const StepCurve censoring = censoring_kaplan_meier(outcomes);
  const std::vector<double> risk = {1, 2}, half = {0.5, 0.5};
  const auto brier = [&](const std::vector<double>& survival, const std::vector<double>& horizons) {
    return brier_scores(censoring, survival, outcomes, horizons);
  };
  EXPECT_NO_THROW(brier(half, {1}));
  EXPECT_THROW(brier(half, {1, 2}), Error);
  EXPECT_THROW(brier({0.5, 1.5}, {1}), Error);
  EXPECT_THROW(brier({0.5, std::nan("")}, {1}), Error);
  EXPECT_THROW(brier(half, {-1}), Error);
  for (const std::vector<double>& horizons : {std::vector<double>{2, 1}, {1, 1}, {std::nan("")}})
    EXPECT_THROW(cumulative_dynamic_auc(censoring, risk, outcomes, horizons), Error);
}

}  // namespace
}  // namespace larmor::survival
