#include "larmor/hardware/control_group.h"

#include <gtest/gtest.h>

#include "larmor/hardware/hardware.h"

#include "tests/hardware/support/fake_machine.h"

namespace larmor {
namespace {

using testing::FakeMachine;

TEST(ControlGroup, TakesTheTightestQuotaOfTheGroupsAround) {
  const FakeMachine machine(64);
  machine.mount_version_2("/slice/job/task");
  machine.write("sys/fs/cgroup/slice/cpu.max", "350000 100000\n");
  machine.write("sys/fs/cgroup/slice/job/cpu.max", "max 100000\n");
  machine.write("sys/fs/cgroup/slice/job/task/cpu.max", "800000 100000\n");
  const Hardware hardware = machine.detect();
  EXPECT_DOUBLE_EQ(hardware.cpu_quota, 3.5);
  EXPECT_EQ(hardware.usable_cores(), 3);
}

TEST(ControlGroup, FindsItsGroupInAContainerThatMountsOnlyItself) {
  const FakeMachine machine(16);
  machine.write("proc/self/mountinfo",
                "31 23 0:28 /docker/abc /sys/fs/cgroup ro,relatime - cgroup2 cgroup rw\n");
  machine.write("proc/self/cgroup", "0::/docker/abc/inner\n");
  machine.write("sys/fs/cgroup/inner/cpu.max", "400000 100000\n");
  machine.write("sys/fs/cgroup/cpu.max", "300000 100000\n");
  EXPECT_DOUBLE_EQ(machine.detect().cpu_quota, 3.0);
}

TEST(ControlGroup, FallsBackToTheMountWhenItsGroupLiesOutside) {
  const FakeMachine machine(16);
  machine.mount_version_2("/../../elsewhere");
  machine.write("sys/fs/cgroup/cpu.max", "500000 100000\n");
  machine.write("sys/fs/cpu.max", "100000 100000\n");  // above the mount: nobody's limit
  EXPECT_DOUBLE_EQ(machine.detect().cpu_quota, 5.0);
}

TEST(ControlGroup, PrefersVersion1WhereTheControllerIsMountedThere) {
  const FakeMachine machine(4);
  machine.mount_version_1("/job");
  const ControlGroup memory = find_control_group(machine.sources.root, "memory");
  EXPECT_EQ(memory.version, 1);
  ASSERT_EQ(memory.folders.size(), 2U);
  EXPECT_EQ(memory.folders[0], machine.sources.root / "sys/fs/cgroup/memory/job");
  EXPECT_EQ(memory.folders[1], machine.sources.root / "sys/fs/cgroup/memory");
  EXPECT_EQ(find_control_group(machine.sources.root, "io").version, 2);
}

TEST(ControlGroup, IsNoneWhereNothingIsMounted) {
  const ControlGroup group = find_control_group(FakeMachine(4).sources.root, "cpu");
  EXPECT_EQ(group.version, 0);
  EXPECT_TRUE(group.folders.empty());
}

}  // namespace
}  // namespace larmor
