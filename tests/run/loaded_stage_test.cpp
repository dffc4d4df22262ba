#include "larmor/run/loaded_stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/json.h"
#include "larmor/run/kept_files.h"

#include "tests/task/support/made_up_stage.h"

namespace larmor::testing {
namespace {

LoadedStage load_made_up(std::vector<std::string> words) {
  return load_stage({.files = {}, .environment = {}, .overrides = std::move(words)}, made_up_workload(),
                    "second");
}

/// A run of the made-up workload, as far as reading its config goes.
struct RunOnDisk {
  explicit RunOnDisk(const std::string& stage) {
    DiskStorage disk;
    write_text(disk, folder.environment(), to_text(Json{{"workload", "made_up"}, {"stage", stage}}));
    const auto config = load_made_up({"model.width=3", "run.seed=7"}).config;
    write_text(disk, folder.config(), config.to_yaml(/*with_origins=*/true));
  }

  ScratchFolder scratch;
  RunFolder folder{scratch.path()};
};

Exit exit_of_loading(const RunOnDisk& run, const std::vector<std::string>& overrides) {
  try {
    load_run_stage(run.folder, made_up_workload(), overrides);
  } catch (const Error& error) {
    return error.exit();
  }
  return Exit::done;
}

TEST(LoadedStage, HoldsWhatTheConfigSaysOfItsOwnFields) {
  const auto loaded = load_made_up({"model.width=3"});
  EXPECT_EQ(loaded.stage->prediction(loaded.config.config).transforms, Json::array({3}));
  EXPECT_EQ(loaded.config.config.workload, "made_up");
  EXPECT_EQ(loaded.config.config.stage, "second");
}

TEST(LoadedStage, OwesNothingToWhatWasLoadedBefore) {
  load_made_up({"model.width=3"});
  const auto loaded = load_made_up({});
  EXPECT_EQ(loaded.stage->prediction(loaded.config.config).transforms, Json::array({8}));
}

TEST(LoadedStage, IsCheckedByWhoeverReadANewConfig) {
  const auto loaded = load_made_up({"model.width=101"});
  EXPECT_THROW(loaded.stage->check(loaded.config.config), Error);
}

TEST(LoadedStage, OfARunHasTheRunsConfigWithOverridesOnTop) {
  const RunOnDisk run("first");
  EXPECT_EQ(workload_of(run.folder), "made_up");
  const auto loaded = load_run_stage(run.folder, made_up_workload(), {"run.seed=9"});
  EXPECT_EQ(loaded.config.config.stage, "first");
  EXPECT_EQ(loaded.config.config.run.seed, 9);
  EXPECT_EQ(loaded.stage->prediction(loaded.config.config).transforms, Json::array({3}));
}

TEST(LoadedStage, OfARunIsRefusedWhereItCannotWork) {
  EXPECT_EQ(exit_of_loading(RunOnDisk("first"), {}), Exit::done);
  EXPECT_EQ(exit_of_loading(RunOnDisk("first"), {"model.width=101"}), Exit::usage);
  EXPECT_EQ(exit_of_loading(RunOnDisk("third"), {}), Exit::usage);
}

TEST(LoadedStage, OfARunRefusesAnotherFileThanTheOneItKeeps) {
  const RunOnDisk run("first");
  DiskStorage disk;
  const auto there = run.scratch.path() / "there.csv", other = run.scratch.path() / "other.csv";
  write_text(disk, there, "case\n1\n");
  write_text(disk, other, "case\n2\n");
  const auto names = [](const std::filesystem::path& list) { return "data.list=" + list.string(); };
  EXPECT_EQ(exit_of_loading(run, {"data.kind=list", names(other)}), Exit::done) << "nothing is kept of it";
  keep_files({{"list", "case\n1\n"}}, run.folder.root, disk);
  EXPECT_EQ(exit_of_loading(run, {"data.kind=list", names(there), "run.seed=9"}), Exit::done)
      << "the same, elsewhere";
  EXPECT_EQ(exit_of_loading(run, {"data.list="}), Exit::done) << "as the run's own config says";
  EXPECT_EQ(exit_of_loading(run, {"data.kind=list", names(other)}), Exit::usage);
  EXPECT_EQ(exit_of_loading(run, {"data.kind=list", names(run.scratch.path() / "nowhere.csv")}), Exit::usage);
  EXPECT_EQ(exit_of_loading(run, {"data.listed=x"}), Exit::usage) << "no such key";
}

}  // namespace
}  // namespace larmor::testing
