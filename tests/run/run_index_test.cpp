#include "larmor/run/run_index.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/text.h"

#include "tests/support/cases.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A folder whose files are as good as volumes for who does not read them.
class RunIndex : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 10; ++i) put(text("p0", i, "/v.npy"), text("volume ", i));
    start = make_index(config(), 1);
    start.states = states_of_files(start);
  }

  fs::path data() const { return scratch_.path() / "data"; }
  void put(const std::string& name, const std::string& bytes, const std::string& folder = "data") {
    const auto path = scratch_.path() / folder / name;
    fs::create_directories(path.parent_path());
    write_text(storage_, path, bytes);
  }
  DataConfig config(const std::string& folder = "data") const {
    DataConfig config;
    config.kind = "npz";
    config.folder = (scratch_.path() / folder).string();
    config.split.train = 0.7;
    config.split.val = 0.3;
    config.split.test = 0.0;
    return config;
  }
  /// What there is now.
  Index now(const std::string& folder = "data") const {
    return make_index(without_splits(config(folder)), 1);
  }
  JudgedCases judge(std::optional<Split> asked = {}, const std::string& folder = "data") const {
    return cases_to_judge(start, now(folder), asked, folder != "data");
  }
  std::string patient(Split split, size_t place) const {
    return start.cases[static_cast<size_t>(start.of(split)[place])].patient;
  }
  static std::vector<std::string> patients(const Index& index, Split split) {
    std::vector<std::string> all;
    for (const auto number : index.of(split)) all.push_back(index.cases[static_cast<size_t>(number)].patient);
    return all;
  }

  Index start;

 private:
  ScratchFolder scratch_;
  DiskStorage storage_;
};

TEST_F(RunIndex, LeavesFewCasesSpreadOverTheirSplit) {
  Index few = start;
  keep_few(few, 2);
  const auto all = patients(start, Split::train);
  EXPECT_THAT(patients(few, Split::train), ElementsAre(all[0], all[all.size() / 2]));
  EXPECT_EQ(few.of(Split::val).size(), 2U);
  EXPECT_TRUE(std::ranges::is_sorted(few.cases, {}, [](const Case& one) { return one.files; }));
  Index more = start;
  keep_few(more, 100);
  EXPECT_EQ(more.sha256(), start.sha256()) << "as many as there are, and no more";
}

TEST_F(RunIndex, JudgesByTheRunsOwnSplits) {
  const auto judged = judge();
  EXPECT_EQ(judged.split, Split::val);
  EXPECT_FALSE(judged.is_other);
  EXPECT_FALSE(judged.changes.any());
  for (const auto split : {Split::train, Split::val})
    EXPECT_EQ(patients(judged.index, split), patients(start, split));
}

TEST_F(RunIndex, LetsNobodyInForAPatientWhoIsGone) {
  const auto gone = patient(Split::val, 0);
  fs::remove_all(data() / gone);
  const auto judged = judge();
  EXPECT_THAT(patients(judged.index, Split::val),
              ElementsAre(patient(Split::val, 1), patient(Split::val, 2)));
  EXPECT_EQ(patients(judged.index, Split::train), patients(start, Split::train));
  EXPECT_THAT(judged.changes.removed, ElementsAre(gone + "/v.npy"));
  EXPECT_THAT(judged.changes.gone_patients, ElementsAre(gone));
  EXPECT_THAT(listing(judged.changes), HasSubstr("1 removed: " + gone + "/v.npy"));
}

TEST_F(RunIndex, GivesNewPatientsAndNewFilesNoSplitAndNamesThem) {
  put("p99/v.npy", "somebody new");
  put(patient(Split::val, 0) + "/w.npy", "another volume");
  const auto judged = judge();
  EXPECT_EQ(patients(judged.index, Split::val), patients(start, Split::val));
  EXPECT_EQ(judged.index.cases.size(), start.cases.size());
  EXPECT_EQ(judged.changes.added.size(), 2U);
  EXPECT_THAT(judged.changes.new_patients, ElementsAre("p99"));
  EXPECT_EQ(to_json(judged.changes)["new_patients"], Json::array({"p99"}));
}

TEST_F(RunIndex, NamesWhatWasEditedWithoutAChangeOfSize) {
  put("p03/v.npy", "VOLUME 3");
  EXPECT_THAT(judge().changes.edited, ElementsAre("p03/v.npy"));
  EXPECT_EQ(judge().index.cases.size(), 10U);
}

// A run from before copies were refused, or one that was allowed to have them.
TEST_F(RunIndex, LeavesThoseOfItsOwnValOutWhoHaveATrainingImageUnderAnotherName) {
  const auto twin = patient(Split::val, 1);
  const auto& original = start.cases[static_cast<size_t>(start.of(Split::train)[0])].name();
  put(twin + "/v.npy", read_text(data() / original));
  start.states = states_of_files(start);
  const auto judged = judge();
  EXPECT_THAT(judged.trained_on, ElementsAre(twin));
  EXPECT_THAT(patients(judged.index, Split::val),
              ElementsAre(patient(Split::val, 0), patient(Split::val, 2)));
}

TEST_F(RunIndex, NamesATableWhoseRowsAreOthers) {
  start.tables = {{.name = "questions", .file = "a.json", .rows = 3, .sha256 = "one"}};
  Index moved = start;
  moved.tables.front().file = "b.json";
  EXPECT_FALSE(changes_since(start, moved).any());
  std::vector<std::string> notes;
  EXPECT_EQ(index_of_resumed_run(start, moved, {}, notes).tables.front().file, "b.json");
  EXPECT_EQ(seen_of_run(start, moved).tables.front().file, "b.json");
  Index other = start;
  other.tables.front().sha256 = "another";
  EXPECT_THAT(changes_since(start, other).edited, ElementsAre("table questions"));
  EXPECT_THROW(index_of_resumed_run(start, other, {}, notes), Error);
  other.tables.clear();
  EXPECT_THAT(changes_since(start, other).removed, ElementsAre("table questions"));
}

TEST_F(RunIndex, FindsItsCasesWhereTheDataHaveMoved) {
  fs::copy(data(), data().parent_path() / "moved", fs::copy_options::recursive);
  fs::remove_all(data().parent_path() / "moved" / "p00");
  const auto judged = judge({}, "moved");
  EXPECT_FALSE(judged.is_other);
  EXPECT_EQ(judged.index.folder, data().parent_path() / "moved");
  EXPECT_THAT(judged.changes.removed, ElementsAre("p00/v.npy"));
  EXPECT_THAT(judged.changes.edited, IsEmpty());
}

TEST_F(RunIndex, TakesAllOfAnotherCohortAsItsTest) {
  for (const char* name : {"a/v.npy", "b/v.npy", "c/v.npy"}) put(name, text("elsewhere ", name), "other");
  const auto judged = judge({}, "other");
  EXPECT_TRUE(judged.is_other);
  EXPECT_EQ(judged.split, Split::test);
  EXPECT_THAT(patients(judged.index, Split::test), ElementsAre("a", "b", "c"));
  EXPECT_THAT(patients(judge(Split::val, "other").index, Split::val), ElementsAre("a", "b", "c"));
  const auto train = error_of([&] { judge(Split::train, "other"); });
  ASSERT_TRUE(train);
  EXPECT_EQ(train->exit(), Exit::usage);
}

TEST_F(RunIndex, KeepsThoseOutOfAnotherCohortWhomItHasTrainedOnByNameAndByContents) {
  const auto known = patient(Split::train, 0), renamed = patient(Split::train, 1);
  put("new/v.npy", "elsewhere", "other");
  put(known + "/v.npy", "another scan of the same", "other");
  fs::create_directories(data().parent_path() / "other" / "unknown");
  fs::copy(data() / renamed / "v.npy", data().parent_path() / "other" / "unknown" / "w.npy");
  const auto judged = judge({}, "other");
  EXPECT_THAT(patients(judged.index, Split::test), ElementsAre("new"));
  EXPECT_THAT(judged.trained_on, ElementsAre(known, "unknown"));
}

TEST_F(RunIndex, KeepsATrainedVolumeOutOfValidationWhoseverNameItHasNow) {
  const auto val = patient(Split::val, 0), trained = patient(Split::train, 0);
  fs::copy(data() / trained / "v.npy", data() / val / "v.npy", fs::copy_options::overwrite_existing);
  const auto judged = judge();
  EXPECT_THAT(judged.trained_on, ElementsAre(val));
  EXPECT_EQ(patients(judged.index, Split::val).size(), 2U);
}

TEST_F(RunIndex, SaysWhyNobodyIsLeft) {
  for (size_t i = 0; i < 3; ++i) fs::remove_all(data() / patient(Split::val, i));
  const auto gone = error_of([&] { judge(); });
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->exit(), Exit::data);
  EXPECT_THAT(gone->message(), HasSubstr("3 removed"));

  put(patient(Split::train, 0) + "/v.npy", "other words", "same names");
  const auto same = error_of([&] { judge({}, "same names"); });
  ASSERT_TRUE(same);
  EXPECT_THAT(same->message(), HasSubstr("because the run has trained on them: " + patient(Split::train, 0)));
  EXPECT_THAT(same->hint(), HasSubstr("column patient"));
}

TEST_F(RunIndex, KnowsRunsThatRememberNoContents) {
  start.states.clear();
  fs::remove_all(data() / patient(Split::val, 0));
  EXPECT_EQ(patients(judge().index, Split::val).size(), 2U);
  put(patient(Split::train, 0) + "/v.npy", "of another length", "other");
  put("new/v.npy", "elsewhere", "other");
  EXPECT_THAT(patients(judge({}, "other").index, Split::test), ElementsAre("new"));
}

class ResumedIndex : public RunIndex {
 protected:
  Index resumed(const std::vector<BadFile>& known_bad = {}) {
    notes.clear();
    return index_of_resumed_run(start, now(), known_bad, notes);
  }
  std::vector<std::string> notes;
};

TEST_F(ResumedIndex, IsThatOfTheStart) {
  EXPECT_EQ(resumed().cases, start.cases);
  EXPECT_THAT(notes, IsEmpty());
  EXPECT_THAT(resumed().touched, IsEmpty());
}

TEST_F(ResumedIndex, GoesOnWithItsCasesWhatIsGoneAndWhatIsNewIsNamed) {
  fs::remove_all(data() / "p04");
  put("p99/v.npy", "somebody new");
  const auto index = resumed();
  EXPECT_EQ(index.sha256(), start.sha256());
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_THAT(notes[0], HasSubstr("removed: p04/v.npy"));
  EXPECT_THAT(notes[0], HasSubstr("p99/v.npy"));
}

TEST_F(ResumedIndex, RefusesFilesThatWereEditedWithoutAChangeOfSize) {
  put("p03/v.npy", "VOLUME 3");
  const auto error = error_of([&] { resumed(); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::data);
  EXPECT_THAT(error->message(), HasSubstr("edited: p03/v.npy"));
  EXPECT_THAT(resumed({{"p03/v.npy", "was cut short"}}).touched, ElementsAre("p03/v.npy"))
      << "a bad file may be repaired";
}

TEST_F(ResumedIndex, PromisesTheSameBitsNoLongerWhereAFileWasTouched) {
  const auto path = data() / "p05" / "v.npy";
  fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds(5));
  EXPECT_THAT(resumed().touched, ElementsAre("p05/v.npy"));
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_THAT(notes[0], HasSubstr("no longer promise the same bits"));
  start.touched = {"p07/v.npy"};
  EXPECT_THAT(resumed().touched, ElementsAre("p05/v.npy", "p07/v.npy")) << "nor ever again";
}

TEST_F(ResumedIndex, IsWhatAnotherHostSeesBadAndTouchedFilesAside) {
  put("p99/v.npy", "somebody new");
  EXPECT_EQ(seen_of_run(start, now()).sha256(), start.sha256());
  fs::remove_all(data() / "p04");
  EXPECT_NE(seen_of_run(start, now()).sha256(), start.sha256());
  start.bad = {{"p04/v.npy", "is not there"}};
  EXPECT_EQ(seen_of_run(start, now()).sha256(), start.sha256());
  put("p03/v.npy", "of another length");
  EXPECT_NE(seen_of_run(start, now()).sha256(), start.sha256());
  start.touched = {"p03/v.npy"};
  EXPECT_EQ(seen_of_run(start, now()).sha256(), start.sha256());
}

// By a search of the list for each case it would take half a minute.
TEST(SeenOfRun, IsFoundOutForAHundredThousandFilesThatWereTouched) {
  constexpr int cases = 100'000;
  Index start;
  for (int number = 0; number < cases; ++number) {
    const auto name = text("p", number, ".npy");
    start.cases.push_back({.files = {{"image", name}}, .patient = name, .bytes = 5});
    start.touched.push_back(name);
  }
  Index now = start;
  for (Case& one : now.cases) one.bytes = 6;
  const auto before = std::clock();
  EXPECT_EQ(seen_of_run(start, now).cases, start.cases);
  const double seconds = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  RecordProperty("cpu_seconds", std::to_string(seconds));
}

}  // namespace
}  // namespace larmor::testing
