// A program without CUDA on a machine with GPUs, invented by a false driver library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/processes/support/program_run.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class BlindBuild : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto reasons = call({"doctor", "--json"}).json()["checks"].dump();
    if (reasons.find("no CUDA") == std::string::npos) GTEST_SKIP() << "this build can use GPUs";
  }
  Finished call(std::vector<std::string> words) {
    return larmor_program(std::move(words),
                          {.folder = scratch_.path(),
                           .environment = {{"LARMOR_NVML", EMULATED_NVML}, {"EMULATED_GPUS", "A100-40,T4"}}});
  }
  ScratchFolder scratch_;
};

TEST_F(BlindBuild, PlansForTheCpuAndSaysWhy) {
  const auto plan = call({"plan", "latent_diffusion", "-c", "tiny", "--json"});
  ASSERT_EQ(plan.status, 0) << plan.err;
  const auto json = plan.json();
  EXPECT_THAT(json["reasons"].dump(),
              AllOf(HasSubstr("2 GPUs are here"), HasSubstr("no CUDA"), HasSubstr("script/build --cuda")));
  EXPECT_EQ(json["precision"], "fp32");
}

TEST_F(BlindBuild, RefusesWhatCannotBeWhenGpusAreAskedFor) {
  const auto end = call({"train", "latent_diffusion", "-c", "tiny", "--device", "cuda"});
  EXPECT_EQ(end.status, 4) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("no CUDA"), HasSubstr("hint: "), HasSubstr("script/build --cuda")));
  EXPECT_FALSE(std::filesystem::exists(scratch_.path() / "runs" / "latest"));
}

TEST_F(BlindBuild, TrainsOnTheCpu) {
  const auto end = call({"train", "latent_diffusion", "-c", "tiny", "train.length=12st"});
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("no CUDA"));
}

TEST_F(BlindBuild, IsWhatTheDoctorFinds) {
  const auto report = call({"doctor", "--json"});
  EXPECT_EQ(report.status, 4);
  const auto json = report.json();
  EXPECT_EQ(json["hardware"]["gpus"].size(), 2U) << "what the machine has stays to be seen";
  EXPECT_EQ(json["settings"]["device"], "cpu");
}

}  // namespace
}  // namespace larmor::testing
