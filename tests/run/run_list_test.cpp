#include "larmor/run/run_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/base/files/removal.h"
#include "larmor/base/json.h"

#include "tests/support/strangers.h"
#include "tests/task/support/made_up_stage.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RunList : public ::testing::Test {
 protected:
  /// A run that was begun so long ago.
  RunFolder put_run(const std::string& name, const Json& environment = Json::object(), int hours_ago = 1) {
    const RunFolder folder{runs() / name};
    disk_.create_folders(folder.checkpoints());
    write_text(disk_, folder.environment(), environment.dump());
    write_text(disk_, folder.config(), "run: {}\n");
    fs::last_write_time(folder.config(), fs::file_time_type::clock::now() - std::chrono::hours(hours_ago));
    return folder;
  }
  std::vector<std::string> names() const { return names_of(runs_in(runs())); }
  std::vector<std::string> who_needs_it(const RunFolder& run) const {
    return names_of(who_needs(run, runs_in(runs()), {two_stages()}));
  }
  std::string latest() const {
    std::error_code absent;
    return fs::read_symlink(runs() / "latest", absent).string();
  }
  fs::path runs() const { return scratch_.path() / "runs"; }

  DiskStorage disk_;

 private:
  static Workload two_stages() {
    const auto make = [] { return std::make_unique<MadeUpStage>(); };
    return {
        "made_up",
        {{.name = "first", .make = make}, {.name = "second", .make = make, .needs = {{.stage = "first"}}}}};
  }
  static std::vector<std::string> names_of(const std::vector<RunFolder>& folders) {
    std::vector<std::string> names;
    for (const auto& folder : folders) names.push_back(folder.root.filename().string());
    return names;
  }
  ScratchFolder scratch_;
};

TEST_F(RunList, HasRunsAloneAndEachOnce) {
  EXPECT_THAT(names(), IsEmpty()) << "no folder either";
  put_run("b");
  put_run("a");
  disk_.create_folders(runs() / "no_run");
  disk_.replace_link(runs() / "latest", "b");
  EXPECT_THAT(names(), ElementsAre("a", "b"));
}

TEST_F(RunList, SaysHowARunStands) {
  const auto run = put_run("a", {{"workload", "made_up"}, {"stage", "second"}});
  EXPECT_EQ(outline_of(run).state, "unfinished");
  mark_ended(disk_, ManualClock(), run, 8, "rank 1 was killed");
  EXPECT_EQ(outline_of(run).state, "failed");
  mark_ended(disk_, ManualClock(), run, 0, "length reached");
  EXPECT_EQ(outline_of(run).state, "done");
  EXPECT_EQ(outline_of(run).stage, "second");
  EXPECT_EQ(outline_of(run).step, std::nullopt);
  fs::remove(run.environment());
  EXPECT_EQ(outline_of(run).workload, "") << "a run that has lost it is listed all the same";
}

TEST_F(RunList, TakesARunAwayAndLeadsLatestToTheOneThatWasStartedLast) {
  const auto newest = put_run("newest", {}, 1);
  put_run("old", {}, 3);
  put_run("newer", {}, 2);
  disk_.replace_link(runs() / "latest", "newest");
  EXPECT_TRUE(remove_run(newest, disk_));
  EXPECT_THAT(names(), ElementsAre("newer", "old"));
  EXPECT_EQ(latest(), "newer");
  EXPECT_TRUE(remove_run({runs() / "old"}, disk_));
  EXPECT_EQ(latest(), "newer") << "it was of another run";
  EXPECT_TRUE(remove_run({runs() / "newer"}, disk_));
  EXPECT_FALSE(fs::is_symlink(runs() / "latest"));
  EXPECT_TRUE(fs::is_empty(runs()));
}

TEST_F(RunList, LeavesWhatOthersHavePutIntoARun) {
  const auto run = put_run("a");
  const auto checkpoint = run.checkpoints() / "step-00000001";
  disk_.create_folders(checkpoint);
  const Strangers strangers(runs() / "outside", {run.root / "thesis", checkpoint / "notes"});
  EXPECT_FALSE(remove_run(run, disk_));
  strangers.expect_there();
  EXPECT_FALSE(run.is_run());
  EXPECT_FALSE(fs::exists(run.environment()));
}

TEST_F(RunList, FindsWhatIsLeftOfARemovalThatWasCut) {
  const auto run = put_run("a");
  FaultyStorage cut([](const FaultyStorage::Operation& operation) {
    if (operation.name == "remove_all" && operation.path.filename() == "config.yaml")
      fail(Exit::environment, "the power is gone");
  });
  EXPECT_THROW(remove_run(run, cut), Error);
  EXPECT_THAT(names(), ElementsAre(".trash-a"));
  const auto rest = runs_in(runs()).front();
  EXPECT_EQ(outline_of(rest).state, "removed in part");
  EXPECT_TRUE(remove_run(rest, disk_));
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(RunList, KnowsWhoHasNoCopyOfWhatItWasBegunWith) {
  const auto run = put_run("first");
  const Json record{{"run", run.root.string()}};
  const auto next = put_run("next", {{"from", {{"run", record}}}});
  const auto stage = put_run("stage", {{"from", {{"first", record}}}});
  EXPECT_THAT(who_needs_it(run), ElementsAre("next", "stage"));
  write_text(disk_, (disk_.create_folders(next.from() / "run"), next.from() / "run" / "begun_from.json"),
             "{}");
  write_text(disk_,
             (disk_.create_folders(stage.from() / "first"), stage.from() / "first" / "earlier_run.json"),
             "{}");
  EXPECT_THAT(who_needs_it(run), IsEmpty());
}

TEST_F(RunList, KnowsWhoGoesOnFromOneOfItsCheckpoints) {
  const auto run = put_run("first");
  const auto origin = run.checkpoints() / "step-00000004";
  const auto next = put_run("next", {{"origin", origin.string()}});
  put_run("other", {{"origin", (runs() / "elsewhere" / "step-00000004").string()}});
  EXPECT_THAT(who_needs_it(run), ElementsAre("next"));
  mark_ended(disk_, ManualClock(), next, 0, "length reached");
  EXPECT_THAT(who_needs_it(run), IsEmpty());
}

TEST_F(RunList, KnowsTheStageOfAChainThatWaitsForIt) {
  const auto run = put_run("chain-first", {{"workload", "made_up"}, {"stage", "first"}});
  EXPECT_THAT(who_needs_it(run), IsEmpty());
  disk_.create_folders(runs() / "chain-second");
  const FileLock claim(runs() / "chain-second" / ".lock");
  EXPECT_THAT(who_needs_it(run), ElementsAre("chain-second"));
  put_run("chain-second");
  EXPECT_THAT(who_needs_it(run), IsEmpty()) << "it has kept what it needs";
}

}  // namespace
}  // namespace larmor::testing
