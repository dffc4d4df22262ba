#include "larmor/run/earlier/trained_on.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/text.h"
#include "larmor/run/run_index.h"

#include "tests/support/cases.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Case case_of(const std::string& patient, Split split) {
  return {.files = {{"image", patient + "/v.npy"}}, .patient = patient, .split = split};
}

/// Patients a and b train, c and d are val, e is test; their files have contents of their own.
class TrainedOnOf : public ::testing::Test {
 protected:
  void SetUp() override {
    index.kind = "npz";
    index.folder = scratch_.path();
    for (const char* patient : {"a", "b"}) index.cases.push_back(case_of(patient, Split::train));
    for (const char* patient : {"c", "d"}) index.cases.push_back(case_of(patient, Split::val));
    index.cases.push_back(case_of("e", Split::test));
    for (const Case& entry : index.cases) put(entry.name(), "volume of " + entry.patient);
  }
  void put(const std::string& name, const std::string& bytes) {
    fs::create_directories((scratch_.path() / name).parent_path());
    write_text(disk_, scratch_.path() / name, bytes);
  }
  static std::vector<std::string> patients(const std::vector<Case>& cases) {
    std::vector<std::string> all;
    for (const Case& entry : cases) all.push_back(entry.patient);
    return all;
  }

  ScratchFolder scratch_;
  DiskStorage disk_;
  Index index;
};

TEST_F(TrainedOnOf, ARunIsItsTrainingCasesByNameAndByContents) {
  index.states = states_of_files(index);
  const auto trained = trained_on(index);
  EXPECT_THAT(trained.people, ElementsAre("a", "b"));
  EXPECT_EQ(trained.contents.size(), 2U);
}

TEST_F(TrainedOnOf, LeavesOutOfValAndTestWhomEarlierWeightsKnowByName) {
  leave_out_trained(index, {.people = {"a", "c", "e", "x"}, .contents = {}});
  EXPECT_THAT(patients(index.cases), ElementsAre("a", "b", "d"));
  EXPECT_THAT(patients(index.left_out), ElementsAre("c", "e"));
  ASSERT_NE(index.account, nullptr);
  EXPECT_EQ(index.account->files_passed_over(), 2);
  EXPECT_THAT(index.account->warnings, ElementsAre(HasSubstr("are left out: c, e")));
}

TEST_F(TrainedOnOf, LeavesThemOutUnderAnotherName) {
  Index earlier = index;
  earlier.states = states_of_files(earlier);
  put("d/v.npy", "volume of a");
  leave_out_trained(index, {.people = {}, .contents = trained_on(earlier).contents});
  EXPECT_THAT(patients(index.left_out), ElementsAre("d"));
}

TEST_F(TrainedOnOf, LeavesNobodyOutWhereNobodyIsAmongThem) {
  const auto hash = index.sha256();
  leave_out_trained(index, {});
  leave_out_trained(index, {.people = {"a", "b", "x"}, .contents = {}});
  EXPECT_EQ(index.sha256(), hash);
  EXPECT_THAT(index.left_out, IsEmpty());
}

TEST_F(TrainedOnOf, SaysWhoseSplitsToTakeWhereNobodyWouldBeLeft) {
  try {
    leave_out_trained(index, {.people = {"c", "d"}, .contents = {}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::data);
    EXPECT_THAT(error.message(), HasSubstr("nobody else is in val: c, d"));
    EXPECT_THAT(error.hint(), HasSubstr("run.seed"));
  }
}

TEST_F(TrainedOnOf, TheLeftOutAreKeptWithTheIndexAndAreNotNewInTheData) {
  const Index now = index;
  leave_out_trained(index, {.people = {"c"}, .contents = {}});
  const Index kept = index_from_json(to_json(index));
  EXPECT_THAT(patients(kept.left_out), ElementsAre("c"));
  EXPECT_FALSE(changes_since(kept, now).any());
  const auto judged = cases_to_judge(kept, now, Split::val, false);
  EXPECT_THAT(judged.trained_on, ElementsAre("c"));
  EXPECT_EQ(judged.index.of(Split::val).size(), 1U);
}

TEST_F(TrainedOnOf, AllThatARunHasKeptCountsTogether) {
  const RunFolder run{scratch_.path() / "run"};
  EXPECT_TRUE(trained_before(run).empty());
  for (const char* place : {"run", "coder", "older"}) disk_.create_folders(run.from() / place);
  keep_trained_on({.people = {"a"}, .contents = {{1, 2}}}, run.from() / "run", disk_);
  keep_trained_on({.people = {"b"}, .contents = {}}, run.from() / "coder", disk_);
  EXPECT_EQ(trained_before(run), (TrainedOn{.people = {"a", "b"}, .contents = {{1, 2}}}));
}

}  // namespace
}  // namespace larmor::testing
