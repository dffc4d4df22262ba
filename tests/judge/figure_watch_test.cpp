#include "larmor/judge/figure_watch.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace larmor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

ValidationResult below_its_baseline() {
  ValidationResult result;
  result.metrics["accuracy"] = {.mean = 0.25};
  result.verdicts = {{.figure = "accuracy",
                      .baseline = {.name = "accuracy_majority"},
                      .value = 0.25,
                      .baseline_value = 0.4}};
  return result;
}

TEST(FigureWatch, WarnsOnceOfABaselineThatIsAboveAfterHalfOfTheRun) {
  std::set<std::string> told;
  EXPECT_THAT(tellings_of(below_its_baseline(), 0.49, told), IsEmpty());
  const auto tellings = tellings_of(below_its_baseline(), 0.5, told);
  ASSERT_EQ(tellings.size(), 1U);
  EXPECT_EQ(tellings[0].kind, "warning");
  EXPECT_EQ(
      tellings[0].words,
      "half of the run is over, and in validation accuracy 0.250 is below its baseline accuracy_majority "
      "0.400 by 0.150");
  EXPECT_THAT(tellings_of(below_its_baseline(), 0.9, told), IsEmpty());
}

TEST(FigureWatch, IsSilentWhereTheFigureIsAbove) {
  std::set<std::string> told;
  auto result = below_its_baseline();
  result.verdicts[0].value = 0.5;
  EXPECT_THAT(tellings_of(result, 1, told), IsEmpty());
}

TEST(FigureWatch, WarnsOnceOfAFigureThatIsNoNumberAndWhy) {
  std::set<std::string> told;
  ValidationResult result;
  result.metrics["c_index"] = {.mean = no_number, .undefined = "nobody has had the event"};
  const auto tellings = tellings_of(result, 0, told);
  ASSERT_EQ(tellings.size(), 1U);
  EXPECT_EQ(tellings[0].words, "val/c_index is no number: nobody has had the event");
  EXPECT_THAT(tellings_of(result, 0, told), IsEmpty());
}

TEST(FigureWatch, NotesWhatAMeanIsWithout) {
  std::set<std::string> told;
  ValidationResult result;
  result.metrics["auc"] = {.mean = 0.7, .undefined_parts = {{"4y", "too late"}, {"5y", "too late"}}};
  const auto tellings = tellings_of(result, 0, told);
  ASSERT_EQ(tellings.size(), 1U);
  EXPECT_EQ(tellings[0].kind, "note");
  EXPECT_THAT(tellings[0].words, HasSubstr("val/auc is without 4y, 5y: too late"));
  EXPECT_THAT(tellings_of(result, 0, told), IsEmpty());
}

}  // namespace
}  // namespace larmor
