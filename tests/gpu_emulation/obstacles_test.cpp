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

constexpr int environment_status = 4;

struct Obstacle {
  const char* name;
  std::map<std::string, std::string> environment;
  const char *why, *remedy;
};

const Obstacle obstacles[] = {
    {"OldDriver",
     {{"EMULATED_DRIVER_CUDA", "12040"}},
     "their driver is of CUDA 12.4 and this build of CUDA 13.0",
     "580"},
    {"NoDriver", {{"EMULATED_DRIVER_CUDA", "0"}}, "no driver of NVIDIA's answers", "--gpus all"},
};

class Obstacles : public ::testing::TestWithParam<Obstacle> {
 protected:
  Finished call(std::vector<std::string> words) {
    return run_on_gpus(std::move(words), scratch_.path(),
                       {.cards = "2*H100", .environment = GetParam().environment});
  }
  ScratchFolder scratch_;
};

TEST_P(Obstacles, EndATrainingThatAsksForGpus) {
  const auto end = call({"train", "latent_diffusion", "-c", "tiny", "--device", "cuda"});
  EXPECT_EQ(end.status, environment_status) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("2 GPUs are here"), HasSubstr(GetParam().why), HasSubstr("hint: "),
                             HasSubstr(GetParam().remedy), Not(HasSubstr("has no CUDA"))));
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

INSTANTIATE_TEST_SUITE_P(Each, Obstacles, ::testing::ValuesIn(obstacles),
                         [](const auto& given) { return std::string(given.param.name); });

}  // namespace
}  // namespace larmor::testing
