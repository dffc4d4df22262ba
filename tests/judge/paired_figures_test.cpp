#include "larmor/judge/paired_figures.h"

#include <cmath>
#include <functional>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"
#include "larmor/judge/bootstrap.h"

#include "tests/judge/support/cases_of_patients.h"
#include "tests/judge/support/scans.h"

namespace larmor::testing {
namespace {

using ::testing::IsEmpty;

constexpr int64_t cases = 40;

Scans named(const std::string& word) {
  std::vector<Scans::NameAndPatient> scans;
  for (int64_t i = 0; i < cases; ++i) scans.emplace_back(text(word, i), text("patient ", i));
  return Scans(std::move(scans));
}

/// What a run has kept of a figure whose value for case i is `value(i)`, and whose mean is over all of them.
KeptEvaluation kept(const std::function<double(int64_t)>& value, const std::string& name = "loss",
                    const std::string& word = "case") {
  CasesOfPatients metrics(cases);
  std::vector<std::pair<int64_t, double>> per_case;
  for (int64_t i = 0; i < cases; ++i) per_case.emplace_back(i, value(i));
  const auto figure = mean_over_cases(metrics, per_case);
  ValidationResult result;
  result.metrics[name].mean = figure.value;
  result.metrics[name].draws = figure.draws;
  return {{{"split", "val"}, {name, {{"mean", figure.value}, {"better", "lower"}}}},
          Json::parse(draws_json(result, named(word)).dump())};
}

double scattered(int64_t i) { return std::sin(static_cast<double>(i * i)); }

TEST(PairedFigures, AreToldApartByADifferenceThatIsSmallBesideTheScatterOfCases) {
  const auto first = kept(scattered);
  const auto second =
      kept([](int64_t i) { return scattered(i) - 0.02 - 0.001 * std::cos(static_cast<double>(i)); });
  const auto pairs = paired_figures(first, second, "first");
  ASSERT_EQ(pairs.size(), 1U);
  const auto& pair = pairs[0];
  EXPECT_EQ(pair.figure, "loss");
  EXPECT_EQ(pair.baseline.name, "first");
  EXPECT_NEAR(pair.difference(), -0.02, 0.001);
  ASSERT_TRUE(pair.interval);
  EXPECT_LT(pair.interval->first, pair.difference());
  EXPECT_GT(pair.interval->second, pair.difference());
  EXPECT_LT(pair.interval->second - pair.interval->first, 0.001) << "each alone scatters by 0.4";
  EXPECT_TRUE(pair.is_better());
  EXPECT_FALSE(pair.holds_zero());
  EXPECT_EQ(pair.patients, cases);
}

TEST(PairedFigures, AreNotToldApartWhereTheDifferenceIsNoise) {
  const auto second =
      kept([](int64_t i) { return scattered(i) + 0.1 * std::cos(static_cast<double>(31 * i * i)); });
  EXPECT_TRUE(paired_figures(kept(scattered), second, "first")[0].holds_zero());
}

TEST(PairedFigures, HaveNoIntervalOfOtherCasesNorOfDrawsThatAreNotThere) {
  const auto of_others = paired_figures(kept(scattered), kept(scattered, "loss", "other"), "first");
  EXPECT_FALSE(of_others[0].interval);
  EXPECT_EQ(of_others[0].no_interval, "the two are not of the same cases");
  auto quick = kept(scattered);
  quick.draws["figures"] = Json::object();
  EXPECT_EQ(paired_figures(kept(scattered), quick, "first")[0].no_interval,
            "larmor evaluate of both, without --quick, gives one");
  quick.figures["loss"]["no_interval"] = "of one patient";
  EXPECT_EQ(paired_figures(quick, kept(scattered), "first")[0].no_interval, "of one patient");
}

TEST(PairedFigures, OfOtherCasesSaySoWhereThereAreNoDrawsToo) {
  auto first = kept(scattered), others = kept(scattered, "loss", "other");
  first.draws["figures"] = others.draws["figures"] = Json::object();
  EXPECT_EQ(paired_figures(first, others, "first")[0].no_interval, "the two are not of the same cases");
}

TEST(PairedFigures, AreThoseThatBothHaveAsANumber) {
  auto second = kept(scattered);
  second.figures["psnr"] = {{"mean", 20}};
  EXPECT_EQ(paired_figures(kept(scattered), second, "first").size(), 1U);
  second.figures["loss"]["mean"] = nullptr;
  EXPECT_THAT(paired_figures(kept(scattered), second, "first"), IsEmpty());
}

TEST(PairedFigures, OfTheSameValuesSayThatNoDrawTellsThemApart) {
  const auto pair = paired_figures(kept(scattered), kept(scattered), "first")[0];
  EXPECT_FALSE(pair.interval);
  EXPECT_EQ(pair.no_interval, "the same for whichever of 40 patients are drawn");
}

}  // namespace
}  // namespace larmor::testing
