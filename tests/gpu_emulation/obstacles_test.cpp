// GPUs that are there, and that the program with CUDA cannot use: each reason by its own words, before a run
// begins.
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gpu_emulation/support/emulated_program.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int environment_status = 4, usage_status = 2;

struct Obstacle {
  const char* name;
  const char* cards = "2*H100";
  std::map<std::string, std::string> environment = {};
  const char *why, *remedy;
};

const Obstacle obstacles[] = {
    {.name = "OldDriver",
     .environment = {{"EMULATED_DRIVER_CUDA", "12040"}},
     .why = "2 GPUs are here, but their driver is of CUDA 12.4 and this build of CUDA 13.0",
     .remedy = "580"},
    {.name = "NoDriver",
     .environment = {{"EMULATED_DRIVER_CUDA", "0"}},
     .why = "2 GPUs are here, but no driver of NVIDIA's answers",
     .remedy = "--gpus all"},
    {.name = "NoCode",
     .cards = "2*V100",
     .why =
         "GPU 0 (Tesla V100-SXM2-16GB) cannot compute here: it is of compute capability 7.0, for which this "
         "build has no code",
     .remedy = "LARMOR_LIBTORCH"},
    {.name = "Slices",
     .cards = "H100/mig",
     .why = "cannot compute here: it is divided into MIG instances",
     .remedy = "-mig 0"},
    {.name = "Prohibited",
     .cards = "H100/prohibited",
     .why = "cannot compute here: its compute mode is prohibited",
     .remedy = "-c DEFAULT"},
    {.name = "Held",
     .cards = "H100/held",
     .why = "cannot compute here: its compute mode is exclusive, and another process holds it",
     .remedy = "which nvidia-smi lists"},
};

class Obstacles : public ::testing::TestWithParam<Obstacle> {
 protected:
  Finished call(std::vector<std::string> words) {
    return run_on_gpus(std::move(words), scratch_.path(),
                       {.cards = GetParam().cards, .environment = GetParam().environment});
  }
  ScratchFolder scratch_;
};

TEST_P(Obstacles, EndATrainingThatAsksForGpus) {
  const auto end = call({"train", "latent_diffusion", "-c", "tiny", "--device", "cuda"});
  EXPECT_EQ(end.status, environment_status) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr(GetParam().why), HasSubstr("hint: "), HasSubstr(GetParam().remedy),
                             Not(HasSubstr("has no CUDA"))));
  EXPECT_FALSE(std::filesystem::exists(scratch_.path() / "runs" / "latest"));
}

TEST_P(Obstacles, LeaveTheCpuToWhoAsksForNone) {
  const auto plan = call({"plan", "latent_diffusion", "-c", "tiny", "--json"});
  ASSERT_EQ(plan.status, 0) << plan.err;
  EXPECT_EQ(plan.json()["device"], "cpu");
  EXPECT_THAT(plan.json()["reasons"].dump(), HasSubstr(GetParam().why));
}

TEST_P(Obstacles, AreFoundByTheDoctor) {
  const auto report = call({"doctor", "--json"});
  EXPECT_EQ(report.status, environment_status);
  EXPECT_THAT(report.json()["checks"].dump(), AllOf(HasSubstr(GetParam().why), HasSubstr(GetParam().remedy)));
}

class Absences : public ::testing::Test {
 protected:
  std::string refusal(const std::string& cards, std::map<std::string, std::string> environment = {}) {
    const auto end = run_on_gpus({"train", "latent_diffusion", "-c", "tiny", "--device", "cuda"},
                                 scratch_.path(), {.cards = cards, .environment = std::move(environment)});
    EXPECT_EQ(end.status, usage_status) << end.err;
    return end.err;
  }
  ScratchFolder scratch_;
};

TEST_F(Absences, AreToldByTheirReason) {
  EXPECT_THAT(refusal("none"), HasSubstr("this job sees no GPU: the driver sees none"));
  EXPECT_THAT(refusal("broken"), HasSubstr("this job sees no GPU: NVML does not start: Driver Not Loaded"));
  EXPECT_THAT(refusal("2*H100/denied"), HasSubstr("GPU 0 of this machine is not granted to this job"));
  EXPECT_THAT(refusal("2*H100", {{"CUDA_VISIBLE_DEVICES", ""}}),
              HasSubstr("CUDA_VISIBLE_DEVICES: 0 of 2 GPUs"));
  EXPECT_THAT(refusal("2*H100", {{"CUDA_VISIBLE_DEVICES", "MIG-1"}}), HasSubstr("is a MIG slice"));
}

TEST_F(Absences, OfOneCardLeaveTheOthers) {
  const auto plan = run_on_gpus({"plan", "latent_diffusion", "-c", "tiny", "--json"}, scratch_.path(),
                                {.cards = "V100,H100,H100/held"});
  ASSERT_EQ(plan.status, 0) << plan.err;
  EXPECT_EQ(plan.json()["device"], "cuda");
  EXPECT_EQ(plan.json()["ranks"].size(), 1U);
  EXPECT_EQ(plan.json()["ranks"][0]["device"], 1);
  EXPECT_THAT(plan.json()["reasons"].dump(),
              AllOf(HasSubstr("GPU 0 (Tesla V100"), HasSubstr("GPU 2 (NVIDIA H100")));
}

INSTANTIATE_TEST_SUITE_P(Each, Obstacles, ::testing::ValuesIn(obstacles),
                         [](const auto& given) { return std::string(given.param.name); });

}  // namespace
}  // namespace larmor::testing
