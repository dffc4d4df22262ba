#include <gtest/gtest.h>

#include "larmor/hardware/hardware.h"

#include "tests/hardware/support/fake_machine.h"

namespace larmor {
namespace {

using testing::FakeMachine;
using testing::gibibyte;
using testing::has_note;

TEST(Slurm, GivesATaskOfAStepItsShare) {
  FakeMachine machine(64);
  machine.environment() = {
      {"SLURM_STEP_ID", "0"}, {"SLURM_CPUS_PER_TASK", "8"}, {"SLURM_CPUS_ON_NODE", "32"}};
  const Hardware hardware = machine.detect();
  EXPECT_EQ(hardware.slurm_cpus_per_task, 8);
  EXPECT_EQ(hardware.usable_cores(), 8);
  EXPECT_TRUE(has_note(hardware, "SLURM: 8 cores a task, of 64"));
}

TEST(Slurm, GivesABatchScriptAllCoresOfItsNode) {
  FakeMachine machine(64);
  machine.environment() = {{"SLURM_CPUS_PER_TASK", "8"}, {"SLURM_CPUS_ON_NODE", "32"}};
  const Hardware hardware = machine.detect();
  EXPECT_EQ(hardware.usable_cores(), 32);
  EXPECT_TRUE(has_note(hardware, "SLURM: 32 cores of this node, of 64"));
}

TEST(Slurm, LimitsMemoryByNodeOrByCore) {
  FakeMachine machine(64);
  machine.environment() = {{"SLURM_MEM_PER_NODE", "16384"}};
  EXPECT_EQ(machine.detect().memory_limit_bytes, 16 * gibibyte);
  machine.environment() = {{"SLURM_MEM_PER_CPU", "2048"}, {"SLURM_CPUS_ON_NODE", "4"}};
  EXPECT_EQ(machine.detect().memory_limit_bytes, 8 * gibibyte);
  machine.environment() = {{"SLURM_MEM_PER_NODE", "0"}};
  EXPECT_EQ(machine.detect().memory_limit_bytes, 64 * gibibyte);
}

TEST(Slurm, IgnoresWhatIsNoNumber) {
  FakeMachine machine(8);
  machine.environment() = {{"SLURM_CPUS_PER_TASK", "many"}, {"SLURM_MEM_PER_NODE", "-3"}};
  const Hardware hardware = machine.detect();
  EXPECT_EQ(hardware.usable_cores(), 8);
  EXPECT_EQ(hardware.memory_limit_bytes, 64 * gibibyte);
}

}  // namespace
}  // namespace larmor
