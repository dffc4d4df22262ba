// `evaluate --by`: the figures of a cohort for each of its parts, with what cannot be known of a small one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/trained_run.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int usage = 2;

/// Of 30 patients, ten of whom are in val: five each of two sexes, one of a third, nobody with the event at
/// site b, and all of other ages.
class JudgedGroups : public TrainedRun {
 protected:
  static void SetUpTestSuite() {
    TrainedRun::SetUpTestSuite();
    std::string table = "image,time,event,fold,patient,sex,site,age,note\n";
    for (int i = 0; i < 33; ++i) {
      const int slices = 6 + i % 7;  // so that no two neighbours look alike
      put_file(folder() / text(i, ".nii"),
               nifti_bytes(
                   {.size = {10, 9, slices}, .voxels = static_cast<uint64_t>(10 * 9 * slices), .number = i}));
      const bool is_of_site_b = i % 4 == 0;
      const char* sex = i == 32 ? "x" : i % 2 == 0 ? "f" : "m";
      table += text(i, ".nii,", 200 + 40 * i, ",", is_of_site_b ? 0 : 1, ",", i % 3 == 2 ? "val" : "train",
                    ",p", i, ",", sex, ",", is_of_site_b ? "b" : "a", ",", 20 + i, ",\n");
    }
    put_file(folder() / "cohort.csv", table);
    const auto end =
        call({"train", "survival", "data.list=cohort.csv", "model.depth=10", "model.widen_factor=0.125",
              "model.norm=group", "data.transforms=[{Resize: {spatial_size: [8, 8, 8], mode: area}}]",
              "train.global_batch=4", "train.length=4st", "train.validate_every=2st", "run.name=cohort"});
    ASSERT_EQ(end.status, 0) << end.err;
  }
  static Json report(std::vector<std::string> words) {
    words.insert(words.begin(), {"evaluate", "cohort", "--json"});
    const auto end = call(words);
    EXPECT_EQ(end.status, 0) << end.err;
    return end.json();
  }
  static Json group(const Json& report, const std::string& name) {
    for (const auto& one : report.at("groups")) {
      if (one.at("group") == name) return one;
    }
    ADD_FAILURE() << "no group " << name;
    return {};
  }
};

TEST_F(JudgedGroups, HaveTheFiguresOfTheWholeWithIntervalsOfTheirOwn) {
  const auto all = report({"--by", "sex"});
  EXPECT_EQ(all.at("groups").size(), 3U);
  const auto women = group(all, "f");
  EXPECT_EQ(women.at("by"), "sex");
  EXPECT_EQ(women.at("n"), 5);
  EXPECT_EQ(women.at("patients"), 5);
  EXPECT_TRUE(women.at("risk").contains("interval"));
  EXPECT_EQ(women.at("c_index").at("better"), "higher");
  EXPECT_FALSE(women.at("risk").contains("per_case")) << "the whole has them";
  // The mean over all is that over the groups.
  double sum = 0;
  for (const auto& one : all.at("groups"))
    sum += one.at("risk").at("mean").get<double>() * one.at("n").get<double>();
  EXPECT_NEAR(sum / all.at("n").get<double>(), all.at("risk").at("mean").get<double>(), 1e-9);
}

TEST_F(JudgedGroups, OfOnePatientHaveReasonsAndNoInventedNumber) {
  const auto one = group(report({"--by", "sex"}), "x");
  EXPECT_EQ(one.at("n"), 1);
  EXPECT_TRUE(one.at("c_index").at("mean").is_null());
  EXPECT_THAT(one.at("c_index").at("undefined").get<std::string>(), HasSubstr("no two patients"));
  EXPECT_EQ(one.at("risk").at("no_interval"), "of one patient");
}

TEST_F(JudgedGroups, OfCensoredPatientsAloneHaveReasonsAndNoInventedNumber) {
  const auto censored = group(report({"--by", "site"}), "b");
  for (const auto* name : {"c_index", "c_index_ipcw", "loss"}) {
    EXPECT_TRUE(censored.at(name).at("mean").is_null()) << name << ' ' << censored.at(name);
    EXPECT_TRUE(censored.at(name).contains("undefined")) << name;
  }
}

TEST_F(JudgedGroups, OfManyNumbersAreQuarters) {
  const auto end = call({"evaluate", "cohort", "--quick", "--by", "age", "--by", "event"});
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.out, AllOf(HasSubstr("by age\n  22 to 28, 3 cases, 3 patients\n"),
                             HasSubstr("by event\n  0, "), HasSubstr("  1, ")));
}

TEST_F(JudgedGroups, AreTheSameForAnyNumberOfRanksAndStandInATable) {
  const auto one = report({"--by", "sex", "--output", "one"});
  const auto two = report({"--by", "sex", "--output", "two", "--ranks", "2"});
  EXPECT_EQ(one.at("groups"), two.at("groups"));
  for (const std::string name : {"cases.csv", "groups.csv"})
    EXPECT_EQ(read_text(folder() / "one" / name), read_text(folder() / "two" / name)) << name;
  EXPECT_THAT(read_text(folder() / "one" / "groups.csv"), HasSubstr("\nsex,x,1,1,c_index,nan,,,,no two"));
  EXPECT_THAT(read_text(folder() / "one" / "cases.csv"), HasSubstr("case,patient,split,sex,time,event,"));
  report({"--output", "one"});
  EXPECT_FALSE(std::filesystem::exists(folder() / "one" / "groups.csv")) << "of the call before";
}

TEST_F(JudgedGroups, AreRefusedWhereNoColumnMakesThem) {
  const auto unknown = call({"evaluate", "cohort", "--by", "sexx"});
  EXPECT_EQ(unknown.status, usage);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("there is no such column, only image, time, event, fold, patient"),
                                 HasSubstr("did you mean sex?")));
  const auto phantoms = call({"evaluate", "run", "--by", "sex"});
  EXPECT_EQ(phantoms.status, usage);
  EXPECT_THAT(phantoms.err, AllOf(HasSubstr("these data come without columns"), HasSubstr("--columns")));
  EXPECT_EQ(call({"evaluate", "run", "--columns", "cohort.csv"}).status, usage);
}

TEST_F(JudgedGroups, ComeFromATableOfThePersonsOwn) {
  std::string own = "patient,arm\n";
  for (int i = 0; i < 33; ++i) own += text("p", i, ",", i < 16 ? "early" : "late", "\n");
  put_file(folder() / "arms.csv", own);
  const auto arms = report({"--quick", "--by", "arm", "--columns", "arms.csv"});
  EXPECT_EQ(group(arms, "early").at("n"), 5);
  EXPECT_EQ(group(arms, "late").at("n"), 6);
  put_file(folder() / "others.csv", "patient,arm\nq1,early\n");
  const auto others = call({"evaluate", "cohort", "--by", "arm", "--columns", "others.csv"});
  EXPECT_EQ(others.status, usage);
  EXPECT_THAT(others.err, HasSubstr("others.csv tells of 0 of 11 cases"));
}

}  // namespace
}  // namespace larmor::testing
