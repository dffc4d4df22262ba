#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/hardware/hardware.h"

#include "tests/hardware/support/fake_machine.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;
using testing::FakeMachine;
using testing::has_note;
using ::testing::IsEmpty;

TEST(Cpu, NamesTheProcessorAndWhatItCanDo) {
  const Hardware hardware = FakeMachine(4).detect();
  EXPECT_EQ(hardware.cpu_name, "Invented CPU");
  EXPECT_TRUE(hardware.has_avx2);
  EXPECT_TRUE(hardware.has_avx512);
  EXPECT_FALSE(hardware.has_amx_bf16);
  EXPECT_EQ(hardware.machine_cores, 4);
  EXPECT_EQ(hardware.usable_cores(), 4);
  EXPECT_THAT(hardware.notes, IsEmpty());
}

TEST(Cpu, UsesOnlyTheCoresOfItsAffinity) {
  FakeMachine machine(64);
  machine.sources.affinity = {8, 9, 10, 11};
  const Hardware hardware = machine.detect();
  EXPECT_THAT(hardware.cores, ElementsAre(8, 9, 10, 11));
  EXPECT_EQ(hardware.usable_cores(), 4);
  EXPECT_TRUE(has_note(hardware, "affinity: 4 of 64 cores"));
}

TEST(Cpu, ReadsTheQuotaOfAVersion2Group) {
  const FakeMachine machine(64);
  machine.mount_version_2("/job");
  machine.write("sys/fs/cgroup/job/cpu.max", "200000 100000\n");
  const Hardware hardware = machine.detect();
  EXPECT_DOUBLE_EQ(hardware.cpu_quota, 2.0);
  EXPECT_EQ(hardware.usable_cores(), 2);
  EXPECT_TRUE(has_note(hardware, "cgroup v2: 2.0 of 64 cores"));
}

TEST(Cpu, ReadsTheQuotaOfAVersion1Group) {
  const FakeMachine machine(16);
  machine.mount_version_1("/docker/abc");
  machine.write("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "600000\n");
  machine.write("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000\n");
  const Hardware hardware = machine.detect();
  EXPECT_DOUBLE_EQ(hardware.cpu_quota, 6.0);
  EXPECT_TRUE(has_note(hardware, "cgroup v1: 6.0 of 16 cores"));
}

TEST(Cpu, KnowsThatMinusOneIsNoQuota) {
  const FakeMachine machine(16);
  machine.mount_version_1("/");
  machine.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  machine.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(machine.detect().usable_cores(), 16);
}

TEST(Cpu, KeepsOneCoreUnderAQuotaOfLessThanOne) {
  const FakeMachine machine(16);
  machine.mount_version_2("/");
  machine.write("sys/fs/cgroup/cpu.max", "50000 100000\n");
  EXPECT_EQ(machine.detect().usable_cores(), 1);
}

}  // namespace
}  // namespace larmor
