#include "larmor/data/index/split.h"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

#include "tests/support/cases.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

std::vector<std::string> patients(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(text("sub-", i / 10, i % 10));
  return names;
}

SplitSection fractions(Json train, Json val, Json test) {
  return {.train = std::move(train), .val = std::move(val), .test = std::move(test), .by = "patient"};
}

// How many are in train, val and test.
std::vector<int> sizes(const PatientSplits& splits) {
  std::vector<int> counts(3);
  for (const auto& [name, split] : splits.of) ++counts[static_cast<size_t>(split)];
  return counts;
}

std::vector<int> sizes(int count, const SplitSection& section) {
  return sizes(split_patients(patients(count), {}, section, 42));
}

TEST(SplitPatients, RoundsByLargestRemainder) {
  EXPECT_THAT(sizes(20, {}), ElementsAre(16, 2, 2));
  EXPECT_THAT(sizes(10, fractions(0.7, 0.3, 0)), ElementsAre(7, 3, 0));
  EXPECT_THAT(sizes(7, fractions(0.5, 0.25, 0.25)), ElementsAre(3, 2, 2));
  EXPECT_THAT(sizes(6, fractions(0.67, 0.33, 0)), ElementsAre(4, 2, 0));
}

TEST(SplitPatients, GivesEverySplitOnePatientWhileThereAreEnough) {
  EXPECT_THAT(sizes(6, {}), ElementsAre(4, 1, 1));
  EXPECT_THAT(sizes(3, {}), ElementsAre(1, 1, 1));
  EXPECT_THAT(sizes(2, {}), ElementsAre(1, 1, 0));
  EXPECT_THAT(sizes(1, {}), ElementsAre(1, 0, 0));
  EXPECT_THAT(sizes(1, fractions(0.1, 0.9, 0)), ElementsAre(1, 0, 0));
  EXPECT_THAT(sizes(100, fractions(0.998, 0.001, 0.001)), ElementsAre(98, 1, 1));
  EXPECT_THAT(sizes(5, fractions(0, 0, 1)), ElementsAre(0, 0, 5));
}

// Over all folds, each patient who is in no test is val once, in folds of nearly one size; nobody is in two
// splits.
TEST(SplitPatients, PutsEachPatientIntoValOnceOverAllFolds) {
  for (const auto& [count, folds] : {std::pair{20, 5}, {23, 5}, {7, 6}, {50, 3}}) {
    const auto before = split_patients(patients(count), {}, {}, 42);
    std::map<std::string, int> times;
    for (int fold = 1; fold <= folds; ++fold) {
      const auto splits = split_patients(patients(count), {}, {}, 42, Fold{fold, folds});
      EXPECT_EQ(splits.of.size(), static_cast<size_t>(count));
      for (const auto& [name, split] : splits.of) {
        times[name] += split == Split::val ? 1 : 0;
        EXPECT_EQ(split == Split::test, before.of.at(name) == Split::test) << name;
      }
      const auto shares = sizes(splits);
      EXPECT_LE(std::abs(shares[1] * folds - (shares[0] + shares[1])), folds);
      EXPECT_THAT(splits.notes, ElementsAre(text("val is fold ", fold, " of ", folds)));
    }
    for (const auto& [name, split] : before.of) EXPECT_EQ(times[name], split == Split::test ? 0 : 1) << name;
  }
}

TEST(SplitPatients, DealsOutFoldsAnewForAnotherSeedAlone) {
  const auto first = split_patients(patients(30), {}, {}, 1, Fold{2, 5}).of;
  EXPECT_EQ(split_patients(patients(30), {}, {}, 1, Fold{2, 5}).of, first);
  EXPECT_NE(split_patients(patients(30), {}, {}, 2, Fold{2, 5}).of, first);
}

TEST(SplitPatients, RefusesFoldsOfWhoHasASplitAndOfTooFew) {
  const auto fold_of = [](int count, const std::map<std::string, Split>& given, const SplitSection& section) {
    return split_patients(patients(count), given, section, 1, Fold{1, 5});
  };
  const auto given = error_of([&] { fold_of(10, {{"sub-03", Split::train}}, {}); });
  ASSERT_TRUE(given);
  EXPECT_THAT(given->message(), HasSubstr("patient sub-03 is in train"));
  EXPECT_THAT(given->hint(), HasSubstr("leave data.fold out"));
  EXPECT_TRUE(error_of([&] { fold_of(10, {}, fractions(0.8, {"sub-01"}, 0)); }));
  const auto few = error_of([&] { fold_of(4, {}, fractions(0.8, 0.2, 0)); });
  ASSERT_TRUE(few);
  EXPECT_THAT(few->message(), HasSubstr("of 4 patients"));
  EXPECT_THAT(few->hint(), HasSubstr("at most 4 folds"));
  EXPECT_THAT(sizes(fold_of(20, {}, fractions(0.8, 0.1, 0.25))), ElementsAre(12, 3, 5));
  // Tests may be given: they are in no fold.
  EXPECT_EQ(sizes(fold_of(10, {{"sub-03", Split::test}}, {}))[2], 1);
  EXPECT_EQ(sizes(fold_of(10, {}, fractions(0.8, 0.1, {"sub-03", "sub-04"})))[2], 2);
}

TEST(SplitPatients, NeverDealsOutMoreOrFewerThanThereAre) {
  for (int count = 1; count < 60; ++count) {
    for (const double train : {0.1, 0.33, 0.5, 0.8, 0.95}) {
      const auto counts = sizes(count, fractions(train, (1 - train) / 2, (1 - train) / 2));
      EXPECT_EQ(counts[0] + counts[1] + counts[2], count) << count << ' ' << train;
      if (count < 3) continue;
      EXPECT_GE(*std::ranges::min_element(counts), 1) << count << ' ' << train;
    }
  }
}

TEST(SplitPatients, LeavesUnusedWhatFractionsDoNotAskFor) {
  const auto splits = split_patients(patients(10), {}, fractions(0.3, 0.2, 0), 42);
  EXPECT_THAT(sizes(splits), ElementsAre(3, 2, 0));
  EXPECT_THAT(splits.notes, ElementsAre("5 patients in no split"));
}

TEST(SplitPatients, ScalesFractionsAboveOneAndSaysSo) {
  const auto splits = split_patients(patients(10), {}, fractions(0.8, 0.8, 0), 42);
  EXPECT_THAT(sizes(splits), ElementsAre(5, 5, 0));
  ASSERT_EQ(splits.notes.size(), 1U);
  EXPECT_THAT(splits.notes[0], HasSubstr("add up to 1.6"));
}

TEST(SplitPatients, DependsOnTheSeed) {
  const auto first = split_patients(patients(40), {}, {}, 1).of;
  EXPECT_EQ(split_patients(patients(40), {}, {}, 1).of, first);
  EXPECT_NE(split_patients(patients(40), {}, {}, 2).of, first);
}

TEST(SplitPatients, MovesFewWhenOnePatientIsAdded) {
  const auto before = split_patients(patients(40), {}, {}, 1).of;
  const auto after = split_patients(patients(41), {}, {}, 1).of;
  int moved = 0;
  for (const auto& [name, split] : before) moved += after.at(name) == split ? 0 : 1;
  EXPECT_LE(moved, 2);
}

TEST(SplitPatients, TakesListsOfNames) {
  const auto splits =
      split_patients(patients(6), {}, fractions({"sub-00", "sub-01"}, {"sub-02"}, Json::array()), 42);
  EXPECT_EQ(splits.of.at("sub-00"), Split::train);
  EXPECT_EQ(splits.of.at("sub-01"), Split::train);
  EXPECT_EQ(splits.of.at("sub-02"), Split::val);
  EXPECT_EQ(splits.of.size(), 3U);
  EXPECT_THAT(splits.notes, ElementsAre("3 patients in no split"));
}

TEST(SplitPatients, DealsTheOthersOutByTheFractionsThatAreLeft) {
  const auto splits = split_patients(patients(11), {}, fractions(0.8, {"sub-03", "sub-07"}, 0.2), 42);
  EXPECT_EQ(splits.of.at("sub-03"), Split::val);
  EXPECT_EQ(splits.of.at("sub-07"), Split::val);
  EXPECT_THAT(sizes(splits), ElementsAre(7, 2, 2));
  EXPECT_TRUE(splits.notes.empty());
  // The default test share stays one; train and test are scaled from 0.9 to 1.
  EXPECT_THAT(sizes(split_patients(patients(11), {}, fractions(0.8, {"sub-03", "sub-07"}, 0.1), 42)),
              ElementsAre(8, 2, 1));
}

TEST(SplitPatients, TakesNumbersAsNames) {
  const auto splits = split_patients({"101", "102", "103"}, {}, fractions(1, {102}, 0), 42);
  EXPECT_EQ(splits.of.at("102"), Split::val);
}

TEST(SplitPatients, LetsTheListFilesWordStand) {
  const std::map<std::string, Split> given = {{"sub-00", Split::test}, {"sub-01", Split::test}};
  const auto splits = split_patients(patients(12), given, fractions({"sub-00"}, 0.5, 0.5), 42);
  EXPECT_EQ(splits.of.at("sub-00"), Split::test);
  // Test was given names, so the others are all val's.
  EXPECT_THAT(sizes(splits), ElementsAre(0, 10, 2));
}

TEST(SplitPatients, NamesAPatientInTwoLists) {
  const auto error =
      error_of([] { split_patients(patients(6), {}, fractions({"sub-04"}, {"sub-04"}, 0), 42); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::data);
  EXPECT_THAT(error->message(), HasSubstr("patient sub-04 is in data.split.train and in data.split.val"));
}

TEST(SplitPatients, NamesTheNearestOfAnUnknownPatient) {
  const auto error =
      error_of([] { split_patients(patients(6), {}, fractions(0.8, {"sub_04", "nobody"}, 0), 42); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::data);
  EXPECT_THAT(error->message(), HasSubstr("sub_04, whom the data do not know (sub-04?)"));
  EXPECT_THAT(error->message(), HasSubstr("nobody"));
  EXPECT_THAT(error->hint(), HasSubstr("sub-00, sub-01"));
}

TEST(SplitPatients, RefusesWhatIsNeitherFractionNorList) {
  for (const Json& value : {Json("half"), Json(1.5), Json(-0.1), Json(true), Json({0.5})}) {
    const auto error = error_of([&] { split_patients(patients(6), {}, fractions(0.5, value, 0), 42); });
    ASSERT_TRUE(error) << value;
    EXPECT_EQ(error->exit(), Exit::usage) << value;
    EXPECT_THAT(error->message(), HasSubstr("data.split.val")) << value;
  }
}

TEST(SplitFromText, KnowsTheWordsOfTheField) {
  EXPECT_EQ(split_from_text("Training"), Split::train);
  EXPECT_EQ(split_from_text("validation"), Split::val);
  EXPECT_EQ(split_from_text("TEST"), Split::test);
  EXPECT_TRUE(error_of([] { split_from_text("holdout"); }));
  for (const Split split : {Split::train, Split::val, Split::test})
    EXPECT_EQ(split_from_text(to_text(split)), split);
}

}  // namespace
}  // namespace larmor
