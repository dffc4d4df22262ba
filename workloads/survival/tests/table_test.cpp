#include "workloads/survival/risk/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/cases.h"

namespace larmor::survival {
namespace {

using larmor::testing::CaseFolder;
using larmor::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

SurvivalTable read(const std::string& csv, const TableColumns& columns = {}, const TableFolds& folds = {}) {
  CaseFolder folder;
  folder.file("table.csv", csv);
  return read_survival_table(folder.path() / "table.csv", columns, folds);
}

std::string complaint(const std::string& csv, const TableColumns& columns = {}) {
  const auto error = error_of([&] { read(csv, columns); });
  if (!error) return "nothing";
  EXPECT_EQ(error->exit(), Exit::data);
  return error->message() + error->hint();
}

TEST(SurvivalTable, GuessesTheGuidesColumns) {
  const auto table = read(
      "case_num,NIFTI Path,Time,EVENT,Fold_1,Age\n"
      "7,a.nii.gz,34,1,train,61\n"
      "8,b.nii.gz,2447.5,0,val,55\n");
  ASSERT_EQ(table.cases.size(), 2U);
  EXPECT_EQ(table.cases[0].files.at("image"), "a.nii.gz");
  EXPECT_EQ(table.cases[0].patient, "7");
  EXPECT_EQ(table.cases[0].split, Split::train);
  EXPECT_EQ(table.cases[1].split, Split::val);
  EXPECT_EQ(table.cases[1].values.at("time"), 2447.5);
  EXPECT_EQ(table.cases[1].values.at("event"), 0);
  EXPECT_THAT(table.sentence, AllOf(HasSubstr("image NIFTI Path"), HasSubstr("fold Fold_1")));
}

TEST(SurvivalTable, SaysWhichOfItsColumnsAPredictionHasAUseFor) {
  const auto columns = [](const std::string& header, const TableColumns& named = {}) {
    return columns_to_predict(parse_csv(header + "\n", "t.csv"), "t.csv", named);
  };
  using Columns = std::map<std::string, std::string>;
  EXPECT_EQ(columns("ID,Patient ID,NIFTI path,time,event,Fold_1,Age"), (Columns{{"ID", ""},
                                                                                {"Patient ID", ""},
                                                                                {"NIFTI path", "image"},
                                                                                {"time", ""},
                                                                                {"event", ""},
                                                                                {"Fold_1", ""}}));
  EXPECT_EQ(columns("where,t1,time", {.image = "where", .time = "t1"}),
            (Columns{{"where", "image"}, {"t1", ""}}));
  EXPECT_EQ(columns("scan", {.image = "where"}), (Columns{{"scan", "image"}}))
      << "another table may call it so";
}

TEST(SurvivalTable, TakesTheColumnsItIsTold) {
  const auto table =
      read("where,t2,t1,dead\nx.nii,5,6,1\n", {.image = "where", .time = "t1", .event = "dead"});
  EXPECT_EQ(table.cases.at(0).values.at("time"), 6);
  EXPECT_FALSE(table.cases[0].split);
  EXPECT_EQ(table.cases[0].patient, "") << "nobody says whose it is";
}

TEST(SurvivalTable, ReadsCovariatesAndNamesEveryCellOfThemThatCannotBe) {
  const auto read_with = [](const std::string& csv, const CovariateColumns& covariates) {
    CaseFolder folder;
    folder.file("table.csv", csv);
    return read_survival_table(folder.path() / "table.csv", {}, {}, covariates);
  };
  const auto refused = [&](const std::string& csv, const CovariateColumns& covariates) {
    const auto error = error_of([&] { read_with(csv, covariates); });
    return error ? error->message() + error->hint() : "nothing";
  };
  const std::string table = "image,time,event,Age,Stage\na.nii,1,1,63.5,3a\nb.nii,2,0,,2\n";
  const auto cases = read_with(table, {.numbers = {"Age"}, .categories = {"Stage"}}).cases;
  EXPECT_EQ(cases.at(0).values, (std::map<std::string, double>{{"time", 1},
                                                               {"event", 1},
                                                               {"covariate Age", 63.5},
                                                               {"covariate Age=", 0},
                                                               {"covariate Stage=2", 0},
                                                               {"covariate Stage=3a", 1}}));
  EXPECT_EQ(cases.at(1).values.at("covariate Age="), 1);
  EXPECT_EQ(cases.at(1).values.at("covariate Stage=2"), 1);
  EXPECT_EQ(read(table).cases.at(0).values.size(), 2U) << "who asks for none gets none";
  EXPECT_THAT(refused(table, {.numbers = {"Age", "Stage"}, .categories = {}}),
              HasSubstr("line 2, Stage: \"3a\" is no number"));
  EXPECT_THAT(refused(table, {.numbers = {"age"}, .categories = {}}),
              AllOf(HasSubstr("no column age"), HasSubstr("did you mean Age?")));
  EXPECT_THAT(
      refused(table, {.numbers = {"time"}, .categories = {}}),
      AllOf(HasSubstr("the column time is the time, and no covariate"), HasSubstr("data.columns.time")));
}

TEST(SurvivalTable, LeavesOutFoldsThatNobodyAskedFor) {
  TableFolds folds;
  folds.train = {"1", "2"};
  folds.val = {"0"};
  const auto table = read("image,time,event,fold\na.nii,1,1,0\nb.nii,2,0,2\nc.nii,3,0,4\n", {}, folds);
  ASSERT_EQ(table.cases.size(), 2U);
  EXPECT_EQ(table.cases[0].split, Split::val);
  EXPECT_THAT(table.sentence, HasSubstr("1 row of fold \"4\" left out"));
}

TEST(SurvivalTable, NamesEveryCellThatCannotBe) {
  EXPECT_THAT(
      complaint("image,time,event\na.nii,-1,1\nb.nii,,2\n,3,0\n"),
      AllOf(HasSubstr("4 cells"), HasSubstr("line 2, time: \"-1\""), HasSubstr("line 3, time: \"\""),
            HasSubstr("line 3, event: \"2\" is neither"), HasSubstr("line 4, image: there is no path")));
}

TEST(SurvivalTable, SaysWhichColumnIsMissing) {
  EXPECT_THAT(complaint("image,time,evnt\na.nii,1,1\n"),
              AllOf(HasSubstr("no column for 1 where"), HasSubstr("evnt"), HasSubstr("data.columns.event")));
  EXPECT_THAT(complaint("image,time,event\na.nii,1,1\n", {.time = "days"}), HasSubstr("no column days"));
}

TEST(SurvivalTable, AsksWhereTwoColumnsWouldDo) {
  EXPECT_THAT(complaint("image,time,event,Fold_2,Fold_3\na.nii,1,1,train,val\n"),
              AllOf(HasSubstr("Fold_2, Fold_3"), HasSubstr("data.columns.fold=")));
}

TEST(SurvivalTable, RefusesATableOfOtherFoldsAlone) {
  EXPECT_THAT(complaint("image,time,event,fold\na.nii,1,1,A\n"),
              AllOf(HasSubstr("names no cases"), HasSubstr("data.folds.train")));
}

}  // namespace
}  // namespace larmor::survival
