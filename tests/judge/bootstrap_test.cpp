#include "larmor/judge/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "tests/judge/support/cases_of_patients.h"

namespace larmor {
namespace {

using Rows = std::span<const std::size_t>;

/// The mean of the rows' numbers, of which each row has its own.
std::optional<double> mean_row(Rows rows) {
  double sum = 0;
  for (const std::size_t row : rows) sum += static_cast<double>(row);
  return sum / static_cast<double>(rows.size());
}

RowsOfPatients one_row_each(std::size_t patients) {
  RowsOfPatients rows;
  for (std::size_t row = 0; row < patients; ++row) rows.push_back({row});
  return rows;
}

TEST(Bootstrap, FindsTheScatterOfAMean) {
  // 0 to 99: the mean of a draw of 100 has the deviation 28.87 / 10.
  const auto interval =
      bootstrap_interval(one_row_each(100), {.repeats = 4000, .confidence = 0.95, .seed = 1}, mean_row)
          .value();
  EXPECT_NEAR(interval.low, 49.5 - 1.96 * 2.887, 0.4);
  EXPECT_NEAR(interval.high, 49.5 + 1.96 * 2.887, 0.4);
  EXPECT_EQ(interval.repeats, 4000);
  const auto narrow =
      bootstrap_interval(one_row_each(100), {.repeats = 4000, .confidence = 0.5, .seed = 1}, mean_row)
          .value();
  EXPECT_NEAR(narrow.high - narrow.low, 2 * 0.674 * 2.887, 0.3);
}

/// Four images of each patient, all of the patient's own value: they say no more than one.
TEST(Bootstrap, FindsTheScatterOverPatientsWhereTheyHaveSeveralImages) {
  constexpr std::size_t patients = 100, images = 4;
  RowsOfPatients rows(patients);
  for (std::size_t row = 0; row < patients * images; ++row) rows[row % patients].push_back(row);
  const RowMeasure mean_value = [](Rows drawn) {
    double sum = 0;
    for (const std::size_t row : drawn) sum += static_cast<double>(row % patients);
    return std::optional(sum / static_cast<double>(drawn.size()));
  };
  const BootstrapOptions options{.repeats = 2000, .confidence = 0.95, .seed = 1};
  const auto of_patients = bootstrap_interval(rows, options, mean_value).value();
  EXPECT_NEAR(of_patients.high - of_patients.low, 2 * 1.96 * 2.887, 0.6);
  const auto of_images = bootstrap_interval(one_row_each(patients * images), options, mean_value).value();
  EXPECT_NEAR(of_images.high - of_images.low, 1.96 * 2.887, 0.3) << "half as wide, and wrong";
}

TEST(Bootstrap, DrawsAllRowsOfAPatientTogether) {
  bootstrap_interval({{0, 3}, {1}, {2, 4, 5}}, {.repeats = 30}, [](Rows rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] == 0) {
        EXPECT_EQ(rows[i + 1], 3U);
      }
      if (rows[i] == 2) {
        EXPECT_EQ(rows[i + 2], 5U);
      }
    }
    return std::optional<double>(1);
  });
}

/// What lets two figures be compared draw by draw.
TEST(Bootstrap, DrawsTheSamePatientsForEveryMeasure) {
  const auto rows = one_row_each(20);
  const auto twice = [](Rows drawn) { return std::optional(2 * *mean_row(drawn)); };
  const auto values = bootstrap_values(rows, {.repeats = 40}, mean_row);
  const auto doubled = bootstrap_values(rows, {.repeats = 40}, twice);
  ASSERT_EQ(values.size(), 40U);
  for (std::size_t draw = 0; draw < values.size(); ++draw) EXPECT_EQ(doubled[draw], 2 * values[draw]);
}

TEST(Bootstrap, IsAFunctionOfItsSeed) {
  const auto at = [](uint64_t seed) {
    return bootstrap_interval(one_row_each(20), {.repeats = 50, .seed = seed}, mean_row).value();
  };
  EXPECT_EQ(at(3).low, at(3).low);
  EXPECT_EQ(at(3).high, at(3).high);
  EXPECT_NE(at(3).low, at(4).low);
}

TEST(Bootstrap, DrawsRowsWithReplacement) {
  std::set<std::vector<std::size_t>> tables;
  bool repeated = false;
  bootstrap_interval(one_row_each(10), {.repeats = 30}, [&](Rows rows) {
    EXPECT_EQ(rows.size(), 10U);
    EXPECT_LT(*std::ranges::max_element(rows), 10U);
    repeated = repeated || std::set<std::size_t>(rows.begin(), rows.end()).size() < rows.size();
    tables.emplace(rows.begin(), rows.end());
    return std::optional<double>(1);
  });
  EXPECT_EQ(tables.size(), 30U);
  EXPECT_TRUE(repeated);
}

TEST(Bootstrap, LeavesOutDrawsWithoutAValue) {
  int64_t calls = 0;
  const auto interval = bootstrap_interval(one_row_each(5), {.repeats = 40}, [&](Rows) {
    return ++calls % 2 == 0 ? std::optional<double>(7) : std::nullopt;
  });
  EXPECT_EQ(interval.value().repeats, 20);
  EXPECT_EQ(interval.value().low, 7);
  EXPECT_FALSE(
      bootstrap_interval(one_row_each(5), {.repeats = 10}, [](Rows) { return std::optional<double>(); }));
  EXPECT_FALSE(bootstrap_interval(one_row_each(0), {}, mean_row));
}

/// Of patient 0 all images are 1, of patient 1 all are 0.
std::vector<std::pair<int64_t, double>> forty_images(double of_other = 0) {
  std::vector<std::pair<int64_t, double>> images;
  for (int64_t example = 0; example < 40; ++example)
    images.emplace_back(example, example % 2 == 0 ? 1 : of_other);
  return images;
}

TEST(MeanOverCases, HasAnIntervalOverPatientsWhoseImagesAreAlike) {
  testing::CasesOfPatients two(2), forty(40);
  const SplitMetric of_two = mean_over_cases(two, forty_images());
  EXPECT_EQ(of_two.value, 0.5);
  EXPECT_EQ(of_two.interval, std::pair(0.0, 1.0));
  const SplitMetric of_forty = mean_over_cases(forty, forty_images());
  EXPECT_NEAR(of_forty.interval.value().first, 0.35, 0.03) << "where each image is another patient's";
}

TEST(MeanOverCases, HasNoIntervalWhereDrawsCannotScatterAndSaysWhy) {
  testing::CasesOfPatients one(1), two(2), quick(2, ValidationDepth::quick);
  const SplitMetric of_one = mean_over_cases(one, forty_images());
  EXPECT_FALSE(of_one.interval);
  EXPECT_EQ(of_one.no_interval, "of one patient");
  const SplitMetric of_equal = mean_over_cases(two, forty_images(/*of_other=*/1));
  EXPECT_FALSE(of_equal.interval);
  EXPECT_EQ(of_equal.no_interval, "the same for whichever of 2 patients are drawn");
  EXPECT_EQ(mean_over_cases(quick, forty_images()).no_interval, "") << "nobody has asked";
}

TEST(Measured, IsNoNumberWhereItIsNotDefined) {
  testing::CasesOfPatients two(2);
  const std::vector<int64_t> examples{0, 1};
  const SplitMetric figure = measured(two, examples, [](Rows) { return std::optional<double>(); });
  EXPECT_TRUE(std::isnan(figure.value));
  EXPECT_FALSE(figure.interval);
  EXPECT_TRUE(std::isnan(mean_over_cases(two, {}).value));
}

}  // namespace
}  // namespace larmor
