#include "larmor/run/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/fenced_storage.h"
#include "larmor/base/files/file.h"
#include "larmor/base/json.h"

#include "tests/support/strangers.h"

namespace larmor::testing {
namespace {

TEST(RunFolder, IsDoneOrFailedButNeverBoth) {
  const ScratchFolder scratch;
  DiskStorage disk;
  ManualClock clock;
  const RunFolder folder{scratch.path()};
  mark_ended(disk, clock, folder, 8, "rank 1 was killed");
  EXPECT_FALSE(folder.is_done());
  EXPECT_EQ(read_json(scratch.path() / "FAILED").at("status"), 8);
  EXPECT_TRUE(read_json(scratch.path() / "FAILED").at("checkpoint").is_null());
  mark_ended(disk, clock, folder, 0, "length reached");
  EXPECT_TRUE(folder.is_done());
  EXPECT_FALSE(std::filesystem::exists(scratch.path() / "FAILED"));
}

TEST(RunFolder, LeavesAFolderThatIsCalledAsItsMark) {
  const ScratchFolder scratch;
  DiskStorage disk;
  ManualClock clock;
  const RunFolder folder{scratch.path()};
  const Strangers strangers(scratch.path() / "outside", {scratch.path() / "FAILED"});
  mark_ended(disk, clock, folder, 0, "length reached");
  mark_going_on(disk, folder);
  strangers.expect_there();
}

TEST(RunFolder, IsNoLongerOfAStartThatAnotherHasOvertaken) {
  const ScratchFolder scratch;
  const RunFolder folder{scratch.path()};
  DiskStorage storage;
  EXPECT_NO_THROW(require_newest_start(folder, 0)) << "no start has raised the fence yet";
  raise_fence(storage, folder.generation_file(), 2);
  EXPECT_NO_THROW(require_newest_start(folder, 2));
  try {
    require_newest_start(folder, 1);
    FAIL() << "the folder is another start's";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::rank_lost);
    EXPECT_THAT(error.message(),
                ::testing::HasSubstr("at generation 2 of the run, and this one has led generation 1"));
  }
}

TEST(RunFolder, IsCalledAfterTheTimeAndWhatIsTrained) {
  const ManualClock clock;
  const auto name = new_run_name(clock, "survival", "train");
  EXPECT_EQ(name, "19700101-000000-survival-train");
  EXPECT_EQ(new_run_name(clock, "survival", ""), "19700101-000000-survival");
  EXPECT_TRUE(planned_run_name(clock, "survival", "train").starts_with(name + "-")) << "and the process";
}

TEST(RunFolder, IsFoundByItsPathOrItsNameAndRefusedOtherwise) {
  const ScratchFolder scratch;
  DiskStorage disk;
  disk.create_folders(scratch.path() / "mine");
  write_text(disk, scratch.path() / "mine" / "config.yaml", "");
  EXPECT_TRUE(find_run("mine", scratch.path()).is_run());
  EXPECT_TRUE(find_run((scratch.path() / "mine").string(), "elsewhere").is_run());
  EXPECT_THROW(find_run("other", scratch.path()), Error);
}

}  // namespace
}  // namespace larmor::testing
