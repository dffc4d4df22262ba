#include "larmor/base/files/disk_room.h"

#include <gtest/gtest.h>

#include "larmor/base/files/file.h"

namespace larmor::testing {
namespace {

TEST(DiskRoom, IsThatOfTheDiskOnWhichAFolderWillLie) {
  const ScratchFolder scratch;
  const auto here = disk_room(scratch.path());
  ASSERT_TRUE(here.has_value());
  EXPECT_GT(here->free_bytes, 0U);
  const auto below = disk_room_for(scratch.path() / "runs" / "to_come");
  ASSERT_TRUE(below.has_value());
  EXPECT_EQ(below->disk, here->disk);
  EXPECT_NE(disk_room_for("/proc/nothing")->disk, here->disk);
}

TEST(DiskRoom, OfWhatIsNotThereIsUnknown) {
  EXPECT_FALSE(disk_room("/nowhere/at/all").has_value());
  EXPECT_EQ(errno, ENOENT);
}

TEST(DiskRoom, IsWhatAQuotaLeaves) {
  EXPECT_FALSE(left_by_quota(0, 500).has_value()) << "no limit";
  EXPECT_EQ(left_by_quota(10, 4 * 1024), 6U * 1024);
  EXPECT_EQ(left_by_quota(10, 11 * 1024), 0U) << "over it";
}

}  // namespace
}  // namespace larmor::testing
