#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "larmor/hardware/hardware.h"

#include "tests/hardware/support/fake_machine.h"

namespace larmor {
namespace {

using ::testing::Contains;
using testing::FakeMachine;
using testing::gibibyte;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GpuNvml : public ::testing::Test {
 protected:
  void show(const char* cards) {
    setenv("EMULATED_GPUS", cards, 1);
    machine.environment()["LARMOR_NVML"] = EMULATED_NVML;
  }
  void TearDown() override { unsetenv("EMULATED_GPUS"); }
  FakeMachine machine{64};
};

TEST_F(GpuNvml, FindsNoneWhereTheLibraryIsAbsent) {
  const Hardware hardware = machine.detect();
  EXPECT_THAT(hardware.gpus, IsEmpty());
  EXPECT_THAT(hardware.notes, IsEmpty());
  EXPECT_EQ(hardware.driver_version, "");
}

TEST_F(GpuNvml, SaysSoWhenADriverIsThereWithoutItsLibrary) {
  machine.write("proc/driver/nvidia/version", "NVRM version: …\n");
  EXPECT_THAT(machine.detect().notes, Contains(HasSubstr("cannot be opened")));
}

TEST_F(GpuNvml, FindsNoneWithADriverButNoCard) {
  show("none");
  const Hardware hardware = machine.detect();
  EXPECT_THAT(hardware.gpus, IsEmpty());
  EXPECT_EQ(hardware.driver_version, "580.65.06");
}

TEST_F(GpuNvml, NotesThatTheLibraryDoesNotStart) {
  show("broken");
  const Hardware hardware = machine.detect();
  EXPECT_THAT(hardware.gpus, IsEmpty());
  EXPECT_THAT(hardware.notes, Contains("NVML does not start: Driver Not Loaded"));
}

TEST_F(GpuNvml, NotesALibraryThatIsNotNvml) {
  machine.environment()["LARMOR_NVML"] = "libm.so.6";
  EXPECT_THAT(machine.detect().notes, Contains(HasSubstr("libm.so.6 is not an NVML")));
}

TEST_F(GpuNvml, DescribesUnequalCards) {
  show("A100-40,T4");
  machine.write("sys/bus/pci/devices/0000:11:00.0/numa_node", "1\n");
  const Hardware hardware = machine.detect();
  ASSERT_EQ(hardware.gpus.size(), 2U);
  const Gpu& first = hardware.gpus[0];
  EXPECT_EQ(first.name, "NVIDIA A100-PCIE-40GB");
  EXPECT_EQ(first.memory_bytes, 40 * gibibyte);
  EXPECT_EQ(first.free_bytes, 39 * gibibyte);
  EXPECT_EQ(first.numa_node, -1);
  const Gpu& second = hardware.gpus[1];
  EXPECT_EQ(second.index, 1);
  EXPECT_EQ(second.capability_major, 7);
  EXPECT_EQ(second.capability_minor, 5);
  EXPECT_EQ(second.numa_node, 1);
  EXPECT_THAT(second.uuid, HasSubstr("GPU-11"));
  EXPECT_THAT(hardware.notes, Contains(HasSubstr("CUDA_DEVICE_ORDER=PCI_BUS_ID")));
}

TEST_F(GpuNvml, IsSilentAboutTheOrderWhenItIsSet) {
  show("A100-40,T4");
  machine.environment()["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
  EXPECT_THAT(machine.detect().notes, IsEmpty());
}

TEST_F(GpuNvml, LeavesOutACardThatIsNotGranted) {
  show("H100,H100/denied,H100");
  const Hardware hardware = machine.detect();
  ASSERT_EQ(hardware.gpus.size(), 2U);
  EXPECT_EQ(hardware.gpus[1].index, 1);
  EXPECT_THAT(hardware.gpus[1].uuid, HasSubstr("GPU-12"));
  EXPECT_THAT(hardware.notes, Contains(HasSubstr("GPU 1 of this machine is not granted")));
}

TEST_F(GpuNvml, TellsWhyThereIsNone) {
  EXPECT_THAT(machine.detect().no_gpus, HasSubstr("no driver of NVIDIA's is here"));
  show("none");
  EXPECT_EQ(machine.detect().no_gpus, "the driver sees none");
  show("2*H100/denied");
  EXPECT_THAT(machine.detect().no_gpus, HasSubstr("GPU 0 of this machine is not granted to this job; GPU 1"));
  show("2*H100");
  EXPECT_EQ(machine.detect().no_gpus, "");
  machine.environment()["CUDA_VISIBLE_DEVICES"] = "";
  EXPECT_EQ(machine.detect().no_gpus, "CUDA_VISIBLE_DEVICES: 0 of 2 GPUs");
  show("broken");
  std::filesystem::create_directories(machine.sources.root / "dev/nvidiactl");
  EXPECT_THAT(machine.detect().no_gpus, HasSubstr("nvidiactl: Is a directory"));
}

TEST_F(GpuNvml, TellsOfSlicesModesAndProcesses) {
  show("H100,H100/mig,H100/prohibited,H100/exclusive,H100/held");
  const auto gpus = machine.detect().gpus;
  ASSERT_EQ(gpus.size(), 5U);
  EXPECT_FALSE(gpus[0].is_sliced);
  EXPECT_TRUE(gpus[1].is_sliced);
  EXPECT_EQ(gpus[0].compute_mode, ComputeMode::shared);
  EXPECT_EQ(gpus[2].compute_mode, ComputeMode::prohibited);
  EXPECT_EQ(gpus[3].compute_mode, ComputeMode::exclusive);
  EXPECT_EQ(gpus[3].processes, 0);
  EXPECT_EQ(gpus[4].processes, 1);
}

TEST_F(GpuNvml, ShowsOnlyThoseThatCudaWouldShow) {
  show("8*H100");
  machine.environment()["CUDA_VISIBLE_DEVICES"] = "6,GPU-12";
  const Hardware hardware = machine.detect();
  ASSERT_EQ(hardware.gpus.size(), 2U);
  EXPECT_THAT(hardware.gpus[0].uuid, HasSubstr("GPU-16"));
  EXPECT_THAT(hardware.gpus[1].uuid, HasSubstr("GPU-12"));
  EXPECT_THAT(hardware.notes, Contains("CUDA_VISIBLE_DEVICES: 2 of 8 GPUs"));
}

}  // namespace
}  // namespace larmor
