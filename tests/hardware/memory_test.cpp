#include <gtest/gtest.h>

#include "larmor/hardware/hardware.h"

#include "tests/hardware/support/fake_machine.h"

namespace larmor {
namespace {

using testing::FakeMachine;
using testing::gibibyte;

TEST(Memory, IsTheMachinesWhereNothingLimits) {
  const Hardware hardware = FakeMachine(4).detect();
  EXPECT_EQ(hardware.memory_bytes, 64 * gibibyte);
  EXPECT_EQ(hardware.memory_limit_bytes, 64 * gibibyte);
  EXPECT_EQ(hardware.memory_available_bytes, 32 * gibibyte);
  EXPECT_GT(hardware.shm_bytes, 0U);
  EXPECT_GT(hardware.disk_free_bytes, 0U);
}

TEST(Memory, IsLimitedByAVersion2GroupAndItsParents) {
  const FakeMachine machine(4);
  machine.mount_version_2("/slice/job");
  machine.write("sys/fs/cgroup/slice/memory.max", "8589934592\n");
  machine.write("sys/fs/cgroup/slice/memory.current", "3221225472\n");
  machine.write("sys/fs/cgroup/slice/memory.stat", "anon 5\ninactive_file 1073741824\n");
  machine.write("sys/fs/cgroup/slice/job/memory.max", "max\n");
  const Hardware hardware = machine.detect();
  EXPECT_EQ(hardware.memory_bytes, 64 * gibibyte);
  EXPECT_EQ(hardware.memory_limit_bytes, 8 * gibibyte);
  // 8 GiB less the 3 GiB in use, of which 1 GiB is file pages that can go.
  EXPECT_EQ(hardware.memory_available_bytes, 6 * gibibyte);
  EXPECT_EQ(hardware.notes.size(), 1U);
  EXPECT_TRUE(hardware.notes.front().starts_with("cgroup v2: 8")) << hardware.notes.front();
}

TEST(Memory, IsLimitedByAVersion1Group) {
  const FakeMachine machine(4);
  machine.mount_version_1("/job");
  machine.write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "4294967296\n");
  EXPECT_EQ(machine.detect().memory_limit_bytes, 4 * gibibyte);
}

TEST(Memory, KnowsTheLargeNumberThatMeansNoLimit) {
  const FakeMachine machine(4);
  machine.mount_version_1("/");
  machine.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  const Hardware hardware = machine.detect();
  EXPECT_EQ(hardware.memory_limit_bytes, 64 * gibibyte);
  EXPECT_TRUE(hardware.notes.empty());
}

TEST(Memory, FindsTheDiskOfAFolderThatIsNotThereYet) {
  FakeMachine machine(4);
  machine.sources.run_folder = machine.sources.root / "runs/of/tomorrow";
  EXPECT_GT(machine.detect().disk_free_bytes, 0U);
}

}  // namespace
}  // namespace larmor
