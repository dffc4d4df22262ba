#include "larmor/judge/case_groups.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

#include "tests/support/cases.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::vector<std::pair<std::string, std::set<int64_t>>> named(const CaseGroups& groups) {
  std::vector<std::pair<std::string, std::set<int64_t>>> all;
  for (const CaseGroup& group : groups) all.emplace_back(group.name, group.examples);
  return all;
}

std::vector<int64_t> first(int64_t count) {
  std::vector<int64_t> examples;
  for (int64_t i = 0; i < count; ++i) examples.push_back(i);
  return examples;
}

CaseColumn words(const std::vector<std::string>& cells) {
  CaseColumn column{.name = "c"};
  for (std::size_t i = 0; i < cells.size(); ++i) column.words[static_cast<int64_t>(i)] = cells[i];
  return column;
}

TEST(CaseGroups, AreOneForEachWordAndLastThoseWithoutOne) {
  EXPECT_THAT(named(groups_by(words({"m", "f", "", "f"}), first(5))),
              ElementsAre(Pair("f", std::set<int64_t>{1, 3}), Pair("m", std::set<int64_t>{0}),
                          Pair("(nothing)", std::set<int64_t>{2, 4})));
}

TEST(CaseGroups, AreOfTheCasesThatWereJudgedAlone) {
  const std::vector<int64_t> judged{0, 3};
  EXPECT_THAT(named(groups_by(words({"m", "f", "x", "f"}), judged)),
              ElementsAre(Pair("f", std::set<int64_t>{3}), Pair("m", std::set<int64_t>{0})));
}

TEST(CaseGroups, AreOneForEachOfAFewNumbersInTheirOrder) {
  EXPECT_THAT(named(groups_by(words({"10", "9", "10", "-1"}), first(4))),
              ElementsAre(Pair("-1", std::set<int64_t>{3}), Pair("9", std::set<int64_t>{1}),
                          Pair("10", std::set<int64_t>{0, 2})));
}

TEST(CaseGroups, OfManyNumbersAreCutAtTheirQuartiles) {
  CaseColumn age{.name = "age"};
  for (int64_t i = 0; i < 20; ++i) age.numbers[i] = static_cast<double>(100 - i);  // 81 to 100
  const auto groups = named(groups_by(age, first(20)));
  ASSERT_EQ(groups.size(), 4U);
  EXPECT_THAT(groups[0], Pair("81 to 85", std::set<int64_t>({15, 16, 17, 18, 19})));
  EXPECT_EQ(groups[1].first, "above 85 to 90");
  EXPECT_EQ(groups[3].first, "above 95 to 100");
}

// Half of all are 0: no cut parts them.
TEST(CaseGroups, KeepEqualNumbersTogether) {
  CaseColumn dose{.name = "dose"};
  for (int64_t i = 0; i < 30; ++i) dose.numbers[i] = i < 15 ? 0 : static_cast<double>(i);
  const auto groups = named(groups_by(dose, first(30)));
  EXPECT_EQ(groups.at(0).first, "0 to 0");
  EXPECT_EQ(groups.at(0).second.size(), 15U);
  std::size_t all = 0;
  for (const auto& [name, examples] : groups) all += examples.size();
  EXPECT_EQ(all, 30U);
}

TEST(CaseGroups, OfWhatIsNoNumberHaveNothingSaidOfThem) {
  CaseColumn risk{.name = "risk"};
  risk.numbers = {{0, 1.0}, {1, std::numeric_limits<double>::quiet_NaN()}};
  EXPECT_THAT(named(groups_by(risk, first(2))),
              ElementsAre(Pair("1", std::set<int64_t>{0}), Pair("(nothing)", std::set<int64_t>{1})));
}

TEST(CaseGroups, AreRefusedWhereNearlyEachCaseWouldBeOne) {
  std::vector<std::string> names;
  for (int i = 0; i < 60; ++i) names.push_back(text("scan ", i));
  const auto error = error_of([&] { groups_by(words(names), first(60)); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::usage);
  EXPECT_THAT(error->message(), HasSubstr("says 60 different things of 60 cases"));
}

TEST(CaseGroups, AreAskedForByANameThatThereIs) {
  const CaseColumns columns{{.name = "sex"}, {.name = "age", .fault = "lines 2 and 3 of a.csv say 1 and 2"}};
  EXPECT_EQ(column_to_part_by(columns, "sex").name, "sex");
  const auto error_with = [&](const CaseColumns& known, const char* name) {
    const auto error = error_of([&] { column_to_part_by(known, name); });
    EXPECT_TRUE(error && error->exit() == Exit::usage);
    return error ? error->message() + " / " + error->hint() : "";
  };
  EXPECT_THAT(error_with(columns, "sexx"), AllOf(HasSubstr("only sex, age"), HasSubstr("did you mean sex?")));
  EXPECT_THAT(error_with(columns, "age"), HasSubstr("lines 2 and 3"));
  EXPECT_THAT(error_with({}, "age"), AllOf(HasSubstr("without columns"), HasSubstr("--columns FILE.csv")));
}

TEST(CaseGroups, HaveTheValuesOfTheirCases) {
  const CaseValues values{{"psnr", {{0, 1.0}, {1, 2.0}}}, {"time", {{1, 3.0}}}};
  const auto some = values_of_group(values, {.by = "", .name = "", .examples = {0}});
  EXPECT_THAT(some, ElementsAre(Pair("psnr", ElementsAre(Pair(0, 1.0)))));
}

}  // namespace
}  // namespace larmor::testing
