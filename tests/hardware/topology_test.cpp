#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/hardware/hardware.h"

#include "tests/hardware/support/fake_machine.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;
using testing::FakeMachine;
using ::testing::IsEmpty;

TEST(Topology, TellsHyperthreadsFromCoresAndNodesApart) {
  FakeMachine machine(8);
  machine.sources.topology = "node:2 core:2 pu:2";
  const Hardware hardware = machine.detect();
  EXPECT_EQ(hardware.physical_cores, 4);
  EXPECT_THAT(hardware.numa_of_core, ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
  EXPECT_THAT(hardware.physical_of_core, ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
}

TEST(Topology, CountsPhysicalCoresAmongThoseAllowedOnly) {
  FakeMachine machine(8);
  machine.sources.topology = "node:2 core:2 pu:2";
  machine.sources.affinity = {2, 3, 4};
  const Hardware hardware = machine.detect();
  EXPECT_EQ(hardware.physical_cores, 2);
  EXPECT_THAT(hardware.numa_of_core, ElementsAre(0, 0, 1));
}

TEST(Topology, LeavesUnknownWhatItDoesNotKnow) {
  FakeMachine machine(8);
  machine.sources.topology = "node:1 core:4 pu:1";
  const Hardware hardware = machine.detect();
  EXPECT_EQ(hardware.physical_cores, 8);
  EXPECT_THAT(hardware.numa_of_core, IsEmpty());
}

}  // namespace
}  // namespace larmor
