#include "larmor/hardware/hardware.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace larmor {
namespace {

TEST(Hardware, MayAlwaysUseOneCore) { EXPECT_EQ(Hardware{}.usable_cores(), 1); }

TEST(Hardware, UsesTheLeastOfAffinityQuotaAndShare) {
  Hardware hardware;
  hardware.cores.resize(16);
  EXPECT_EQ(hardware.usable_cores(), 16);
  hardware.cpu_quota = 7.9;
  EXPECT_EQ(hardware.usable_cores(), 7);
  hardware.cpu_quota = 1e300;
  EXPECT_EQ(hardware.usable_cores(), 16);
  hardware.slurm_cpus_per_task = 4;
  EXPECT_EQ(hardware.usable_cores(), 4);
}

TEST(Hardware, DescribesTheMachineThatRunsThis) {
  const Hardware hardware = detect_hardware();
  EXPECT_FALSE(hardware.host.empty());
  EXPECT_GE(hardware.cores.size(), 1U);
  EXPECT_GE(hardware.machine_cores, static_cast<int>(hardware.cores.size()));
  EXPECT_LE(hardware.machine_cores, sysconf(_SC_NPROCESSORS_CONF));
  EXPECT_GE(hardware.physical_cores, 1);
  EXPECT_LE(hardware.physical_cores, static_cast<int>(hardware.cores.size()));
  EXPECT_EQ(hardware.numa_of_core.size(), hardware.cores.size());
  EXPECT_GT(hardware.memory_bytes, 0U);
  EXPECT_LE(hardware.memory_limit_bytes, hardware.memory_bytes);
  EXPECT_GT(hardware.disk_free_bytes, 0U);
}

}  // namespace
}  // namespace larmor
