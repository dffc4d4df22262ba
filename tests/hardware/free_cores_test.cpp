#include "larmor/hardware/free_cores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

#include "tests/hardware/support/fake_machine.h"

namespace larmor {
namespace {

using testing::FakeMachine;

constexpr const char* at_first =
    "cpu  3000 0 0 3000 0 0 0 0 0 0\n"
    "cpu0 1000 0 0 1000 0 0 0 0 0 0\n"
    "cpu1 1000 0 0 1000 0 0 0 0 0 0\n"
    "cpu12 1000 0 0 1000 0 0 0 0 900 0\n"
    "intr 1 2 3\nctxt 5\n";
// Of 20 ticks, core 0 was idle for 15 and waited for a disk for 5; core 1 worked for others at a low priority
// for 8 and lost 7 to the host; core 12 worked for a guest, which counts as its own work.
constexpr const char* later =
    "cpu  3000 0 0 3000 0 0 0 0 0 0\n"
    "cpu0 1000 0 0 1015 5 0 0 0 0 0\n"
    "cpu1 1000 8 0 1005 0 0 0 7 0 0\n"
    "cpu12 1020 0 0 1000 0 0 0 0 920 0\n";

std::optional<double> free_of(const std::vector<int>& cores) {
  return free_between(core_ticks(at_first), core_ticks(later), cores);
}

TEST(FreeCores, AreWhatTheCoresOfTheJobWereIdleFor) {
  EXPECT_EQ(free_of({0}), 1.0);
  EXPECT_EQ(free_of({1}), 0.25);
  EXPECT_EQ(free_of({12}), 0.0);
  EXPECT_EQ(free_of({0, 1}), 1.25) << "what others do on further cores does not matter";
  EXPECT_EQ(free_of({0, 1, 12}), 1.25);
}

TEST(FreeCores, AreUnknownWhereTheKernelCountsNothing) {
  EXPECT_EQ(free_of({0, 2}), std::nullopt) << "there is no line of core 2";
  EXPECT_EQ(free_of({}), std::nullopt);
  EXPECT_EQ(free_between(core_ticks(later), core_ticks(later), {0}), std::nullopt);
  EXPECT_EQ(free_between({}, {}, {0}), std::nullopt);
  const FakeMachine machine(2);
  Hardware hardware = machine.detect();
  EXPECT_EQ(hardware.free_cores, std::nullopt) << "nobody has asked";
  measure_free_cores(machine.sources, hardware);
  EXPECT_EQ(hardware.free_cores, std::nullopt) << "this machine has no /proc/stat";
  machine.write("proc/stat", at_first);
  measure_free_cores(machine.sources, hardware);
  EXPECT_EQ(hardware.free_cores, std::nullopt) << "its clock stands still";
}

TEST(FreeCores, AreCountedOnThisMachine) {
  Hardware hardware = detect_hardware();
  HardwareSources nothing_said;
  nothing_said.environment.emplace();
  measure_free_cores(nothing_said, hardware);
  ASSERT_TRUE(hardware.free_cores);
  EXPECT_GE(*hardware.free_cores, 0);
  EXPECT_LE(*hardware.free_cores, static_cast<double>(hardware.cores.size()));
}

TEST(FreeCores, CanBeStated) {
  FakeMachine machine(4);
  const auto stated = [&machine](const char* words) {
    machine.environment()["LARMOR_FREE_CORES"] = words;
    Hardware hardware = machine.detect();
    measure_free_cores(machine.sources, hardware);
    return hardware.free_cores;
  };
  EXPECT_EQ(stated("all"), 4.0);
  EXPECT_EQ(stated("1.5"), 1.5);
  EXPECT_EQ(stated("0"), 0.0);
  EXPECT_EQ(stated("64"), 4.0) << "no more than there are";
  for (const char* const wrong : {"", "some", "-1", "2 cores", "nan"}) {
    try {
      stated(wrong);
      ADD_FAILURE() << wrong << " is accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::usage);
      EXPECT_THAT(error.message(), ::testing::HasSubstr("LARMOR_FREE_CORES"));
    }
  }
}

}  // namespace
}  // namespace larmor
