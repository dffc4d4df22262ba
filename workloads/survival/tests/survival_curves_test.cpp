#include "workloads/survival/risk/survival_curves.h"

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

#include "workloads/survival/tests/tables.h"

namespace larmor::survival {
namespace {

using testing::doubles;
using testing::golden_file;
using testing::golden_patients;
using testing::Patients;
using testing::random_patients;

TEST(KaplanMeier, EqualsTheReference) {
  const NamedTensors golden = golden_file("survival");
  const SurvivalOutcomes train = golden_patients(golden, "train").outcomes;
  const StepCurve curve = kaplan_meier(train);
  const auto expected = doubles(golden.at("kaplan_meier/survival"));
  ASSERT_EQ(curve.times(), doubles(golden.at("kaplan_meier/time")));
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(curve.values()[i], expected[i], 1e-14);

  const StepCurve censoring = censoring_kaplan_meier(train);
  const auto times = doubles(golden.at("censoring_km/time")),
             probabilities = doubles(golden.at("censoring_km/probability"));
  for (std::size_t i = 0; i < times.size(); ++i) EXPECT_NEAR(censoring.at(times[i]), probabilities[i], 1e-14);
}

TEST(KaplanMeier, IsWhatOneWorksOutByHand) {
  // At 2 one of four has the event and one is censored; at 5 one of two.
  const SurvivalOutcomes outcomes{.time = {5, 2, 2, 7}, .event = {1, 1, 0, 0}};
  const StepCurve curve = kaplan_meier(outcomes), censoring = censoring_kaplan_meier(outcomes);
  EXPECT_EQ(curve.at(0), 1);
  EXPECT_EQ(curve.at(1.9), 1);
  EXPECT_EQ(curve.before(2), 1);
  EXPECT_DOUBLE_EQ(curve.at(2), 0.75);
  EXPECT_DOUBLE_EQ(curve.before(5), 0.75);
  EXPECT_DOUBLE_EQ(curve.at(5), 0.375);
  EXPECT_DOUBLE_EQ(curve.at(100), 0.375);
  EXPECT_TRUE(curve.reaches(7));
  EXPECT_FALSE(curve.reaches(7.1));
  EXPECT_EQ(censoring.before(2), 1);
  EXPECT_DOUBLE_EQ(censoring.at(2), 2.0 / 3);  // whoever has had the event cannot be censored
  EXPECT_DOUBLE_EQ(censoring.at(5), 2.0 / 3);
  EXPECT_DOUBLE_EQ(censoring.at(7), 0);
}

TEST(KaplanMeier, WantsATable) {
  EXPECT_THROW(kaplan_meier({}), Error);
  EXPECT_THROW(kaplan_meier({.time = {1}, .event = {2}}), Error);
  EXPECT_THROW(kaplan_meier({.time = {std::nan("")}, .event = {1}}), Error);
  EXPECT_THROW(kaplan_meier({.time = {1, 2}, .event = {1}}), Error);
}

TEST(BreslowBaseline, EqualsItsDefinitionOnRandomTables) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Patients patients = random_patients(seed, 1 + seed % 40, 1 + seed % 15, 0.4);
    const auto& [time, event] = patients.outcomes;
    const StepCurve baseline = breslow_baseline(patients.log_risk, patients.outcomes);
    for (double until = 0; until < 16; until += 0.5) {
      double hazard = 0;
      for (std::size_t i = 0; i < time.size(); ++i) {
        if (event[i] == 0 || time[i] > until) continue;
        double at_risk = 0;
        for (std::size_t j = 0; j < time.size(); ++j)
          at_risk += time[j] >= time[i] ? std::exp(patients.log_risk[j]) : 0;
        hazard += 1 / at_risk;
      }
      EXPECT_NEAR(baseline.at(until), hazard, 1e-12 * (1 + hazard)) << seed;
    }
  }
}

TEST(BreslowBaseline, StandsRisksThatExpCannot) {
  const SurvivalOutcomes outcomes{.time = {1, 2, 3}, .event = {1, 1, 1}};
  const std::vector<double> risk = {1000, 999, 1001};
  const StepCurve baseline = breslow_baseline({risk.begin(), 3}, outcomes);
  EXPECT_TRUE(std::isfinite(baseline.at(3)));
  EXPECT_EQ(survival_probability(baseline, 1000, 0.5), 1);
  const StepCurve low = breslow_baseline(std::vector<double>{-700, -701, -699}, outcomes);
  const StepCurve plain = breslow_baseline(std::vector<double>{0, -1, 1}, outcomes);
  EXPECT_NEAR(survival_probability(low, -700, 2), survival_probability(plain, 0, 2), 1e-10);
}

TEST(BreslowBaseline, PredictsOneBeforeTheFirstEvent) {
  const StepCurve baseline = breslow_baseline(std::vector<double>{0, 0}, {.time = {3, 4}, .event = {1, 0}});
  EXPECT_EQ(baseline.at(2.9), 0);
  EXPECT_EQ(survival_probability(baseline, 2, 2.9), 1);
  EXPECT_DOUBLE_EQ(baseline.at(3), 0.5);
  EXPECT_DOUBLE_EQ(survival_probability(baseline, 0, 100), std::exp(-0.5));
  EXPECT_EQ(breslow_baseline(std::vector<double>{1}, {.time = {3}, .event = {0}}).at(10), 0);
}

}  // namespace
}  // namespace larmor::survival
