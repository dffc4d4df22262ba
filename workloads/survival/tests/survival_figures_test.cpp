#include "workloads/survival/risk/survival_figures.h"

#include <cmath>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workloads/survival/risk/brier.h"
#include "workloads/survival/risk/concordance.h"
#include "workloads/survival/risk/time_auc.h"

namespace larmor::survival {
namespace {

class Recorded final : public Metrics {
 public:
  explicit Recorded(bool intervals = false) : intervals_(intervals) {}
  void value(const std::string&, int64_t, double) override {}
  void note(const std::string&, int64_t, double) override {}
  void figure(const std::string& name, const SplitMetric& figure) override { figures[name] = figure; }
  void picture(const std::string& name, const Image&) override { pictures.push_back(name); }
  void remark(const std::string& sentence) override { remarks.push_back(sentence); }
  bool wants_pictures() const override { return true; }
  ValidationDepth depth() const override {
    return intervals_ ? ValidationDepth::full : ValidationDepth::quick;
  }
  std::string patient(int64_t example) const override {
    return Metrics::patient(patients > 0 ? example % patients : example);
  }
  int64_t patients = 0;  // of which the examples are one after the other, over and over; 0: each another's
  std::map<std::string, SplitMetric> figures;
  std::vector<std::string> pictures, remarks;

 private:
  bool intervals_;
};

/// Sixty patients; the risk tells something of their time.
CaseValues sixty_cases() {
  CaseValues cases;
  for (int64_t i = 0; i < 60; ++i) {
    const double time = 100 + 10 * static_cast<double>(i * 37 % 60);
    cases["time"].emplace_back(i, time);
    cases["event"].emplace_back(i, i % 3 == 0 ? 0 : 1);
    cases["risk"].emplace_back(i, 3 - time / 200 + 0.5 * std::sin(static_cast<double>(i)));
  }
  return cases;
}

TrainingTable training_of(const Predictions& table) {
  return {.censoring = censoring_kaplan_meier(table.outcomes),
          .baseline = breslow_baseline(table.log_risk, table.outcomes),
          .survival = kaplan_meier(table.outcomes),
          .horizons = {{"200d", 200}, {"1y", 365.25}}};
}

TEST(SurvivalFigures, AreThoseOfTheWholeSplit) {
  const auto table = Predictions::from(sixty_cases());
  const auto training = training_of(table);
  Recorded recorded;
  record_figures(table, training, recorded);
  const std::vector<double> times{200, 365.25};
  const auto auc = cumulative_dynamic_auc(training.censoring, table.log_risk, table.outcomes, times);
  const auto brier = brier_scores(training.censoring, table.survival(training.baseline, training.horizons),
                                  table.outcomes, times);
  EXPECT_EQ(recorded.figures.at("c_index").value, harrell_concordance(table.log_risk, table.outcomes).index);
  EXPECT_EQ(recorded.figures.at("c_index_ipcw").value,
            uno_concordance(training.censoring, table.log_risk, table.outcomes).index);
  EXPECT_EQ(recorded.figures.at("auc").value, auc.mean);
  EXPECT_EQ(recorded.figures.at("ibs").value, brier.integrated);
  ASSERT_EQ(recorded.figures.at("brier").parts.size(), 2U);
  EXPECT_EQ(recorded.figures.at("brier").parts[1].first, "1y");
  EXPECT_EQ(recorded.figures.at("brier").parts[1].second, brier.at_horizons[1]);
  EXPECT_FALSE(recorded.figures.contains("c_index_of_truth"));
  EXPECT_FALSE(recorded.figures.at("c_index").interval);
  EXPECT_THAT(recorded.pictures, ::testing::ElementsAre("risk_groups", "calibration_200d", "calibration_1y"));
}

TEST(SurvivalFigures, SayWhyAChartIsNotDrawn) {
  const auto all = sixty_cases();
  CaseValues few;
  for (const auto& [name, values] : all) few[name] = {values.begin(), values.begin() + 8};
  const auto training = training_of(Predictions::from(all));
  Recorded recorded;
  record_figures(Predictions::from(few), training, recorded);
  EXPECT_THAT(recorded.pictures, ::testing::IsEmpty());
  EXPECT_THAT(
      recorded.remarks,
      ::testing::ElementsAre(
          "no chart of risk groups: it needs at least 5 patients in two thirds of the patients by "
          "risk, and the thirds of these 8 patients have 2, 3, 3 (patients of equal risk stay together)",
          "no chart of calibration at 200d, 1y: its groups have at least 10 patients each, and there are 8"));
  auto late = training;
  late.horizons = {{"4y", 4 * 365.25}};
  late.time_unit = "days";
  CaseValues followed = all;  // a group that has all had the event would be known for ever
  for (auto& [example, event] : followed["event"]) event = example == 0 ? 1 : 0;
  Recorded of_late;
  record_figures(Predictions::from(followed), late, of_late);
  EXPECT_THAT(of_late.pictures, ::testing::ElementsAre("risk_groups"));
  EXPECT_THAT(
      of_late.remarks,
      ::testing::ElementsAre("no chart of calibration at 4y: its groups have at least 10 patients each, "
                             "and none of them was followed that long (the longest time is 690.0 days)"));
  Recorded of_all;
  record_figures(Predictions::from(all), training, of_all);
  EXPECT_THAT(of_all.remarks, ::testing::IsEmpty());
}

TEST(SurvivalFigures, KnowWhatTheTruthWouldReach) {
  auto cases = sixty_cases();
  cases["truth"] = cases["time"];
  for (auto& [example, value] : cases["truth"]) value = -value;
  const auto table = Predictions::from(cases);
  Recorded recorded;
  record_figures(table, training_of(table), recorded);
  EXPECT_EQ(recorded.figures.at("c_index_of_truth").value, 1);
}

TEST(SurvivalFigures, LieWithinTheirIntervals) {
  const auto table = Predictions::from(sixty_cases());
  Recorded recorded(/*intervals=*/true);
  record_figures(table, training_of(table), recorded);
  for (const auto* name : {"c_index", "c_index_ipcw", "auc", "brier", "ibs"}) {
    const auto& figure = recorded.figures.at(name);
    ASSERT_TRUE(figure.interval) << name;
    EXPECT_LT(figure.interval->first, figure.value) << name;
    EXPECT_GT(figure.interval->second, figure.value) << name;
  }
}

/// Each patient four times, as four images of which the network says the same.
TEST(SurvivalFigures, HaveIntervalsOverPatientsAndNotOverTheirImages) {
  CaseValues one = sixty_cases(), four;
  for (const auto& [name, values] : one) {
    for (int64_t image = 0; image < 240; ++image)
      four[name].emplace_back(image, values[static_cast<std::size_t>(image % 60)].second);
  }
  const auto training = training_of(Predictions::from(one));
  Recorded of_one(/*intervals=*/true), of_four(/*intervals=*/true);
  of_four.patients = 60;
  record_figures(Predictions::from(one), training, of_one);
  record_figures(Predictions::from(four), training, of_four);
  for (const auto* name : {"c_index", "auc", "brier", "ibs"}) {
    const auto expected = of_one.figures.at(name).interval.value();
    const auto found = of_four.figures.at(name).interval.value();
    EXPECT_NEAR(found.first, expected.first, 1e-12) << name;
    EXPECT_NEAR(found.second, expected.second, 1e-12) << name;
  }
}

/// Before, one horizon that lies beyond the follow-up took the mean of all with it.
TEST(SurvivalFigures, AreMeansOverTheHorizonsThatTheSplitReaches) {
  const auto table = Predictions::from(sixty_cases());
  auto training = training_of(table);
  Recorded good(/*intervals=*/true), late(/*intervals=*/true);
  record_figures(table, training, good);
  training.horizons.push_back({"4y", 4 * 365.25});
  record_figures(table, training, late);
  for (const auto* name : {"auc", "brier", "ibs", "brier_kaplan_meier", "ibs_kaplan_meier"}) {
    const SplitMetric& figure = late.figures.at(name);
    EXPECT_EQ(figure.value, good.figures.at(name).value) << name;
    EXPECT_EQ(figure.interval, good.figures.at(name).interval) << name;
    if (!figure.parts.empty()) {
      EXPECT_TRUE(std::isnan(figure.parts.at(2).second)) << name;
    }
    EXPECT_EQ(figure.undefined_parts.at("4y"), "nobody is followed beyond 4y") << name;
    EXPECT_EQ(figure.undefined_parts.size(), 1U) << name;
  }
}

TEST(SurvivalFigures, SayWhyThereIsNone) {
  auto cases = sixty_cases();
  for (auto& [example, event] : cases["event"]) event = 0;
  const auto training = training_of(Predictions::from(sixty_cases()));
  Recorded of_censored, late;
  record_figures(Predictions::from(cases), training, of_censored);
  for (const auto* name : {"c_index", "c_index_ipcw", "auc"})
    EXPECT_TRUE(std::isnan(of_censored.figures.at(name).value)) << name;
  EXPECT_THAT(of_censored.figures.at("c_index").undefined, ::testing::HasSubstr("nobody has had the event"));
  EXPECT_THAT(of_censored.figures.at("auc").undefined,
              ::testing::HasSubstr("nobody is known to have had the event by 1y"));
  auto far = training;
  far.horizons = {{"4y", 4 * 365.25}};
  record_figures(Predictions::from(sixty_cases()), far, late);
  for (const auto* name : {"auc", "brier", "ibs"}) {
    EXPECT_TRUE(std::isnan(late.figures.at(name).value)) << name;
    EXPECT_EQ(late.figures.at(name).undefined, "nobody is followed beyond 4y") << name;
  }
}

/// All have the event at one time: of no pair is it known who had it first.
TEST(SurvivalFigures, OfTiedTimesHaveNoConcordanceAndSayWhy) {
  auto cases = sixty_cases();
  for (auto& [example, time] : cases["time"]) time = 100;
  for (auto& [example, event] : cases["event"]) event = 1;
  Recorded recorded;
  record_figures(Predictions::from(cases), training_of(Predictions::from(sixty_cases())), recorded);
  EXPECT_TRUE(std::isnan(recorded.figures.at("c_index").value));
  EXPECT_THAT(recorded.figures.at("c_index").undefined,
              ::testing::HasSubstr("of no pair is it known who had the event first"));
}

/// The curve that is the same for everybody tells nobody apart: a risk that does is better by the Brier
/// score.
TEST(SurvivalFigures, StandBesideThoseOfOneCurveForEverybody) {
  const auto table = Predictions::from(sixty_cases());
  Recorded full(/*intervals=*/true), quick;
  record_figures(table, training_of(table), full);
  record_figures(table, training_of(table), quick);
  EXPECT_LT(full.figures.at("brier").value, full.figures.at("brier_kaplan_meier").value);
  EXPECT_EQ(full.figures.at("brier").draws.examples, full.figures.at("brier_kaplan_meier").draws.examples);
  EXPECT_FALSE(quick.figures.contains("brier_kaplan_meier"));
}

TEST(SurvivalFigures, AreNoNumbersWhereAPredictionIsNone) {
  auto cases = sixty_cases();
  cases["risk"][7].second = NAN;
  const auto training = training_of(Predictions::from(sixty_cases()));
  Recorded recorded;
  record_figures(Predictions::from(cases), training, recorded);
  for (const auto& [name, figure] : recorded.figures) EXPECT_TRUE(std::isnan(figure.value)) << name;
  EXPECT_EQ(recorded.figures.size(), 6U);
}

}  // namespace
}  // namespace larmor::survival
