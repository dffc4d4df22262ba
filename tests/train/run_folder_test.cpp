#include "larmor/train/run_folder.h"

#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/file.h"
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

TEST(RunFolder, GetsANameThatNoOtherRunHas) {
  const ScratchFolder scratch;
  ManualClock clock;
  const auto first = new_run_name(clock, scratch.path(), "survival", "train");
  EXPECT_EQ(first, "19700101-000000-survival-train");
  std::filesystem::create_directory(scratch.path() / first);
  EXPECT_EQ(new_run_name(clock, scratch.path(), "survival", "train"), first + "-2");
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
