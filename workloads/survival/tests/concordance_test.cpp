#include "workloads/survival/risk/concordance.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/judge/bootstrap.h"

#include "workloads/survival/tests/tables.h"

namespace larmor::survival {
namespace {

using testing::golden_file;
using testing::golden_patients;
using testing::Patients;
using testing::random_patients;

/// Pair by pair, as the definition has it; `weight` belongs to the event.
template <class Weight>
Concordance every_pair(const Patients& patients, Weight weight) {
  const auto& [time, event] = patients.outcomes;
  Concordance found;
  double numerator = 0, denominator = 0;
  for (std::size_t i = 0; i < time.size(); ++i) {
    for (std::size_t j = 0; j < time.size(); ++j) {
      const bool same_time = time[i] == time[j];
      if (event[i] == 0 || !(time[i] < time[j] || (same_time && event[j] == 0))) continue;
      const double ahead = patients.log_risk[i] - patients.log_risk[j];
      const bool tied = std::abs(ahead) <= 1e-8;
      found.tied_risk += tied ? 1 : 0;
      found.concordant += !tied && ahead > 0 ? 1 : 0;
      found.discordant += !tied && ahead < 0 ? 1 : 0;
      found.tied_time += same_time ? 1 : 0;
      numerator += weight(i) * (tied ? 0.5 : ahead > 0 ? 1 : 0);
      denominator += weight(i);
    }
  }
  if (denominator > 0) found.index = numerator / denominator;
  return found;
}

void expect_same(const Concordance& found, const Concordance& expected) {
  EXPECT_EQ(found.concordant, expected.concordant);
  EXPECT_EQ(found.discordant, expected.discordant);
  EXPECT_EQ(found.tied_risk, expected.tied_risk);
  EXPECT_EQ(found.tied_time, expected.tied_time);
  ASSERT_EQ(found.index.has_value(), expected.index.has_value());
  if (expected.index) {
    EXPECT_NEAR(*found.index, *expected.index, 1e-12);
  }
}

/// What harrell_sums() makes of a table.
std::pair<double, double> sums_of(const std::vector<double>& risk, const SurvivalOutcomes& outcomes) {
  const std::vector<double> event(outcomes.event.begin(), outcomes.event.end());
  const auto sums = harrell_sums(at::tensor(risk, at::kDouble), at::tensor(outcomes.time, at::kDouble),
                                 at::tensor(event, at::kDouble));
  return {sums.concordant.item<double>(), sums.comparable.item<double>()};
}

TEST(Concordance, EqualsTheReference) {
  const NamedTensors golden = golden_file("survival");
  const auto number = [&](const std::string& key) { return golden.at("cindex/" + key).item<double>(); };
  const Patients train = golden_patients(golden, "train"), test = golden_patients(golden, "test");
  const Concordance harrell = harrell_concordance(test.log_risk, test.outcomes);
  EXPECT_NEAR(harrell.index.value(), number("sksurv_harrell/c_index"), 1e-12);
  EXPECT_EQ(static_cast<double>(harrell.concordant), number("sksurv_harrell/concordant"));
  EXPECT_EQ(static_cast<double>(harrell.discordant), number("sksurv_harrell/discordant"));
  EXPECT_EQ(static_cast<double>(harrell.tied_risk), number("sksurv_harrell/tied_risk"));
  EXPECT_EQ(static_cast<double>(harrell.tied_time), number("sksurv_harrell/tied_time"));

  const StepCurve censoring = censoring_kaplan_meier(train.outcomes);
  EXPECT_NEAR(uno_concordance(censoring, test.log_risk, test.outcomes).index.value(),
              number("sksurv_ipcw_no_tau"), 1e-12);
  EXPECT_NEAR(uno_concordance(censoring, test.log_risk, test.outcomes, number("ipcw_tau")).index.value(),
              number("sksurv_ipcw_tau"), 1e-12);
}

TEST(Concordance, EqualsEveryPairOfRandomTables) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const double event_share = seed % 3 == 0 ? 0.1 : 0.5;
    const Patients test = random_patients(seed, 1 + seed % 60, 1 + seed % 25, event_share);
    const Patients train = random_patients(seed + 1000, 40, 20, 0.5);
    expect_same(harrell_concordance(test.log_risk, test.outcomes),
                every_pair(test, [](auto) { return 1.0; }));
    const auto [concordant, comparable] = sums_of(test.log_risk, test.outcomes);
    const auto whole = harrell_concordance(test.log_risk, test.outcomes);
    EXPECT_EQ(comparable > 0, whole.index.has_value());
    if (whole.index) {
      EXPECT_EQ(concordant / comparable, *whole.index) << "to the last bit";
    }
    const StepCurve censoring = censoring_kaplan_meier(train.outcomes);
    const double tau = 12;
    const auto weight = [&](std::size_t row) {
      const double time = test.outcomes.time[row], uncensored = censoring.at(time);
      const bool counts = time < tau && censoring.reaches(time) && uncensored > 0;
      return counts ? 1 / (uncensored * uncensored) : 0.0;
    };
    expect_same(uno_concordance(censoring, test.log_risk, test.outcomes, tau), every_pair(test, weight));
  }
}

TEST(Concordance, CallsRisksTiedThatDifferByRounding) {
  const SurvivalOutcomes outcomes{.time = {1, 2, 3}, .event = {1, 1, 0}};
  const Concordance found = harrell_concordance(std::vector<double>{1, 1 + 0.5e-8, 1 - 0.5e-8}, outcomes);
  EXPECT_EQ(found.tied_risk, 3);
  EXPECT_DOUBLE_EQ(found.index.value(), 0.5);
  EXPECT_EQ(harrell_concordance(std::vector<double>{1, 1 + 2e-8, 0}, outcomes).discordant, 1);
  EXPECT_EQ(sums_of({1, 1 + 0.5e-8, 1 - 0.5e-8}, outcomes), std::pair(1.5, 3.0));
  EXPECT_EQ(sums_of({1, 1 + 2e-8, 0}, outcomes), std::pair(2.0, 3.0));
}

TEST(Concordance, SumsNothingWhereARiskIsNotFinite) {
  const SurvivalOutcomes outcomes{.time = {1, 2, 3}, .event = {1, 1, 0}};
  for (const double odd :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(sums_of({2, odd, 1}, outcomes), std::pair(0.0, 0.0));
    EXPECT_EQ(sums_of({2, -odd, 1}, outcomes), std::pair(0.0, 0.0));
  }
}

TEST(Concordance, HasNoIndexWithoutAPair) {
  const std::vector<double> risk = {1, 2};
  EXPECT_FALSE(harrell_concordance(risk, {.time = {1, 2}, .event = {0, 1}}).index);
  EXPECT_FALSE(harrell_concordance(risk, {.time = {2, 2}, .event = {1, 1}}).index);
  EXPECT_FALSE(harrell_concordance({}, {}).index);
  // The one with the event at a time comes before whoever was censored at it.
  EXPECT_EQ(harrell_concordance(risk, {.time = {2, 2}, .event = {0, 1}}).index, 1.0);
}

TEST(Concordance, LeavesOutEventsThatTheTrainingTableDoesNotReach) {
  const StepCurve censoring = censoring_kaplan_meier({.time = {1, 2, 3}, .event = {0, 1, 1}});
  const SurvivalOutcomes outcomes{.time = {2, 5, 6}, .event = {1, 1, 0}};
  const Concordance found = uno_concordance(censoring, std::vector<double>{3, 1, 2}, outcomes);
  EXPECT_EQ(found.events_left_out, 1);
  EXPECT_DOUBLE_EQ(found.index.value(), 1);
}

TEST(Concordance, DoesNotCountPairsOneByOne) {
  const Patients patients = random_patients(1, 100'000, 1'000'000, 0.3);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_NEAR(harrell_concordance(patients.log_risk, patients.outcomes).index.value(), 0.5, 0.02);
  // 10^10 pairs would take longer by far, also on a busy machine.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST(Concordance, RefusesPredictionsThatAreNone) {
  const SurvivalOutcomes outcomes{.time = {1, 2}, .event = {1, 1}};
  EXPECT_THROW(harrell_concordance(std::vector<double>{1, std::nan("")}, outcomes), Error);
  EXPECT_THROW(harrell_concordance(std::vector<double>{1}, outcomes), Error);
  EXPECT_THROW(harrell_concordance(std::vector<double>{1, 2}, {.time = {1, -2}, .event = {1, 1}}), Error);
}

TEST(Concordance, LiesWithinItsBootstrapInterval) {
  const auto patients = testing::random_patients(8, 80, 50, 0.6);
  RowsOfPatients rows_of_each;
  for (std::size_t row = 0; row < 80; ++row) rows_of_each.push_back({row});
  const auto interval =
      bootstrap_interval(rows_of_each, {.repeats = 200}, [&](std::span<const std::size_t> rows) {
        std::vector<double> risk;
        for (const std::size_t row : rows) risk.push_back(patients.log_risk[row]);
        return harrell_concordance(risk, rows_of(patients.outcomes, rows)).index;
      });
  const double index = harrell_concordance(patients.log_risk, patients.outcomes).index.value();
  EXPECT_LT(interval.value().low, index);
  EXPECT_GT(interval.value().high, index);
}

}  // namespace
}  // namespace larmor::survival
