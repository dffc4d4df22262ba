#include "larmor/hardware/gpu_health.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"

#include "tests/hardware/support/fake_machine.h"

namespace larmor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// By the NVML of the emulated GPUs.
class GpuHealthOf : public ::testing::Test {
 protected:
  void show(const char* cards) {
    setenv("EMULATED_GPUS", cards, 1);
    setenv("EMULATED_FAULT_MARK", mark().c_str(), 1);
    machine_.environment()["LARMOR_NVML"] = EMULATED_NVML;
  }
  void strike(const std::string& fault) const { write_text(storage_, mark(), fault + "\n"); }
  void TearDown() override {
    unsetenv("EMULATED_GPUS");
    unsetenv("EMULATED_FAULT_MARK");
  }
  std::filesystem::path mark() const { return scratch_.path() / "mark"; }

  mutable DiskStorage storage_;
  ScratchFolder scratch_;
  FakeMachine machine_{64};
};

TEST_F(GpuHealthOf, NothingIsNoNews) {
  GpuHealth without_a_driver({}, machine_.sources);
  EXPECT_THAT(without_a_driver.take_news(), IsEmpty());
  show("none");
  EXPECT_THAT(GpuHealth({}, machine_.sources).take_news(), IsEmpty());
  show("broken");
  EXPECT_THAT(GpuHealth({}, machine_.sources).take_news(), IsEmpty());
}

TEST_F(GpuHealthOf, SoundGpusIsNoNews) {
  show("2*H100");
  GpuHealth health(machine_.detect().gpus, machine_.sources);
  EXPECT_THAT(health.take_news(), IsEmpty());
  strike("collective@1");
  EXPECT_THAT(health.take_news(), IsEmpty()) << "an error of NCCL is none of a GPU";
}

TEST_F(GpuHealthOf, AGpuThatIsLostSaysItsXidAndThatItIsLostOnce) {
  show("3*H100");
  machine_.environment()["CUDA_VISIBLE_DEVICES"] = "2,1";
  GpuHealth health(machine_.detect().gpus, machine_.sources);
  strike("gone@1");
  const auto news = health.take_news();
  EXPECT_THAT(news,
              ElementsAre(Field(&GpuTrouble::words,
                                "GPU 1 (NVIDIA H100 80GB HBM3): Xid 79 (the GPU has fallen off the bus)"),
                          Field(&GpuTrouble::words, "GPU 1 (NVIDIA H100 80GB HBM3): GPU is lost")));
  for (const auto& trouble : news) EXPECT_TRUE(trouble.is_end);
  EXPECT_THAT(health.take_news(), IsEmpty());
  strike("gone@2");
  EXPECT_EQ(health.take_news().front().gpu, 0) << "as CUDA counts them";
  strike("gone@0");
  EXPECT_THAT(health.take_news(), IsEmpty()) << "the job does not see it";
}

TEST_F(GpuHealthOf, AnIllegalAccessSaysItsXidAndTheGpuIsStillThere) {
  show("H100");
  GpuHealth health(machine_.detect().gpus, machine_.sources);
  strike("error@0");
  const auto news = health.take_news();
  ASSERT_EQ(news.size(), 1U);
  EXPECT_THAT(news[0].words, HasSubstr("Xid 31 (an illegal memory access)"));
}

TEST_F(GpuHealthOf, AGpuThatIsTooHotIsSlowAndNoReasonOfAnEnd) {
  show("H100,H100/hot");
  const Hardware hardware = machine_.detect();
  EXPECT_THAT(hardware.notes, ElementsAre("GPU 1 runs slower than it could: it is much too hot"));
  GpuHealth health(hardware.gpus, machine_.sources);
  const auto news = health.take_news();
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].words, "GPU 1 (NVIDIA H100 80GB HBM3) runs slower than it could: it is much too hot");
  EXPECT_FALSE(news[0].is_end);
  EXPECT_THAT(health.take_news(), IsEmpty()) << "once";
}

}  // namespace
}  // namespace larmor::testing
