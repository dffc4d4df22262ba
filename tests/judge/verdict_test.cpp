#include "larmor/judge/verdict.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/judge/bootstrap.h"

#include "tests/judge/support/cases_of_patients.h"

namespace larmor {
namespace {

using testing::CasesOfPatients;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// More patients than there are cases: each case is another one's.
constexpr int64_t many = 1000;

using PerCase = std::vector<std::pair<int64_t, double>>;

/// Eight cases that scatter by ten, alike in every figure, around a middle.
PerCase eight(double middle, double own_scatter = 0) {
  PerCase values;
  for (int64_t i = 0; i < 8; ++i) {
    const auto place = static_cast<double>(i);
    values.emplace_back(i, middle + 10 * std::sin(place) + own_scatter * std::cos(2 * place));
  }
  return values;
}

DeclaredFigures declared(Better better) {
  return {{.name = "psnr", .better = better, .unit = "dB", .baselines = {{.name = "psnr_fit"}}}};
}

Verdict verdict_on(const PerCase& own, const PerCase& other, Metrics& metrics,
                   Better better = Better::higher) {
  return verdicts_of(declared(better),
                     {{"psnr", mean_over_cases(metrics, own)}, {"psnr_fit", mean_over_cases(metrics, other)}})
      .at(0);
}

TEST(Verdict, IsOfThePairedDifferenceAndNotOfTheTwoIntervals) {
  CasesOfPatients full(many);
  const auto own = eight(20), other = eight(21, /*own_scatter=*/0.2);
  const SplitMetric figure = mean_over_cases(full, own), baseline = mean_over_cases(full, other);
  ASSERT_GT(figure.interval->second, baseline.interval->first) << "by themselves the two overlap";
  const Verdict verdict = verdict_on(own, other, full);
  EXPECT_FALSE(verdict.holds_zero());
  EXPECT_LT(verdict.interval->second - verdict.interval->first, 0.4);
  EXPECT_THAT(sentence_of(verdict), HasSubstr("psnr 20"));
  EXPECT_THAT(sentence_of(verdict), HasSubstr(" dB is below its baseline psnr_fit 2"));
  EXPECT_THAT(sentence_of(verdict), HasSubstr("over 8 patients; nothing learned yet"));
}

TEST(Verdict, SaysByHowMuchInTheSentencesDirection) {
  CasesOfPatients full(many);
  const std::string below = sentence_of(verdict_on(eight(20), eight(25, /*own_scatter=*/1), full));
  const std::string above = sentence_of(verdict_on(eight(25, /*own_scatter=*/1), eight(20), full));
  const auto numbers = [](const std::string& words) {
    const auto from = words.find(" by ");
    return words.substr(from, words.find(" over") - from);
  };
  EXPECT_EQ(numbers(below), numbers(above)) << "a difference of five, whichever is above";
  EXPECT_THAT(above, Not(HasSubstr("nothing learned")));
}

TEST(Verdict, OfFiguresThatScatterMoreThanTheyDifferTellsThemNotApart) {
  CasesOfPatients full(many);
  const Verdict verdict = verdict_on(eight(20, /*own_scatter=*/5), eight(20.1), full);
  EXPECT_TRUE(verdict.holds_zero());
  EXPECT_THAT(sentence_of(verdict), HasSubstr("are not told apart: difference"));
  EXPECT_EQ(to_json({verdict})[0]["verdict"], "not told apart");
}

TEST(Verdict, OfOnePatientHasNoIntervalAndSaysNothingOfLearning) {
  CasesOfPatients one(1);
  const std::string words = sentence_of(verdict_on(eight(20), eight(25), one));
  EXPECT_THAT(words, HasSubstr("is below its baseline"));
  EXPECT_THAT(words, HasSubstr("(no interval: of one patient)"));
  EXPECT_THAT(words, Not(HasSubstr("nothing learned")));
}

TEST(Verdict, KnowsFiguresThatAreBetterWhereTheyAreLower) {
  CasesOfPatients full(many);
  const Verdict below = verdict_on(eight(20), eight(25, 1), full, Better::lower);
  EXPECT_TRUE(below.is_better());
  EXPECT_THAT(sentence_of(below), HasSubstr(", and lower is better"));
  EXPECT_THAT(sentence_of(below), Not(HasSubstr("nothing learned")));
  const Verdict above = verdict_on(eight(25, 1), eight(20), full, Better::lower);
  EXPECT_TRUE(above.is_worse());
  EXPECT_THAT(sentence_of(above), HasSubstr("lower is better; nothing learned yet"));
}

TEST(Verdict, HoldsAFigureAgainstANumber) {
  CasesOfPatients full(many);
  const DeclaredFigures ranking{
      {.name = "c_index", .better = Better::higher, .baselines = {{.name = "chance", .value = 0.5}}}};
  PerCase shares;
  for (int64_t i = 0; i < 20; ++i) shares.emplace_back(i, i % 4 == 0 ? 0.6 : 0.9);
  const auto verdicts = verdicts_of(ranking, {{"c_index", mean_over_cases(full, shares)}});
  EXPECT_THAT(sentence_of(verdicts.at(0)),
              HasSubstr("c_index 0.825 is above its baseline 0.500 (chance) by 0.325 ["));
}

TEST(Verdict, IsPairedOverTheSameCasesOrHasNoInterval) {
  CasesOfPatients full(many);
  auto fewer = eight(25);
  fewer.pop_back();
  const Verdict verdict = verdict_on(eight(20), fewer, full);
  EXPECT_FALSE(verdict.interval);
  EXPECT_THAT(sentence_of(verdict), HasSubstr("(no interval: the two are not of the same cases)"));
}

TEST(Verdict, InTrainingHasNoIntervalAndNoReasonForThat) {
  CasesOfPatients quick(many, ValidationDepth::quick);
  const std::string words = sentence_of(verdict_on(eight(20), eight(25), quick));
  EXPECT_THAT(words, HasSubstr("is below its baseline"));
  EXPECT_THAT(words, Not(HasSubstr("interval")));
}

TEST(Verdict, ThereIsNoneWhereOneOfTheTwoIsMissingOrNoNumber) {
  CasesOfPatients full(many);
  const SplitMetric figure = mean_over_cases(full, eight(20));
  EXPECT_THAT(verdicts_of(declared(Better::higher), {{"psnr", figure}}), IsEmpty());
  EXPECT_THAT(
      verdicts_of(declared(Better::higher),
                  {{"psnr", figure}, {"psnr_fit", {.value = std::numeric_limits<double>::quiet_NaN()}}}),
      IsEmpty());
}

}  // namespace
}  // namespace larmor
