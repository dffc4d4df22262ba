// What a newcomer types first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/processes/support/program_run.h"

namespace larmor::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

TEST(FirstLook, WithoutWordsTheProgramSaysWhatItCanDo) {
  const auto end = larmor_program({});
  EXPECT_EQ(end.status, 2);
  EXPECT_THAT(end.out, HasSubstr("train"));
}

TEST(FirstLook, AMistypedVerbIsAnsweredWithTheNearest) {
  const auto end = larmor_program({"trian", "latent_diffusion"});
  EXPECT_EQ(end.status, 2);
  EXPECT_THAT(end.err, HasSubstr("did you mean train?"));
}

TEST(FirstLook, ListNamesTheWorkloadsTheirStagesAndConfigs) {
  const auto all = larmor_program({"list", "--json"}).json();
  std::vector<std::string> names;
  for (const auto& workload : all) {
    names.push_back(workload["workload"]);
    EXPECT_THAT(workload["configs"].dump(), HasSubstr("tiny"));
    const auto& details = workload["stage_details"];
    ASSERT_EQ(details.size(), workload["stages"].size());
    EXPECT_EQ(details[0]["stage"], workload["stages"][0]);
    EXPECT_EQ(details[0]["configs"], workload["configs"]);
    EXPECT_TRUE(details[0]["needs"].empty()) << "the first stage has none before it";
  }
  EXPECT_THAT(names, IsSupersetOf({"fast_ddpm", "latent_diffusion", "survival"}));
}

TEST(FirstLook, EveryConfigIsShownAndExplainedBeforeThereAreData) {
  for (const auto& workload : larmor_program({"list", "--json"}).json()) {
    for (const auto& stage : workload["stage_details"]) {
      for (const auto& name : stage["configs"]) {
        for (const char* verb : {"show", "explain"}) {
          const std::vector<std::string> words{"config",
                                               verb,
                                               workload["workload"].get<std::string>(),
                                               "--stage",
                                               stage["stage"].get<std::string>(),
                                               "-c",
                                               name.get<std::string>()};
          const auto end = larmor_program(words);
          EXPECT_EQ(end.status, 0) << workload["workload"] << " " << name << ": " << end.err;
        }
      }
    }
  }
}

TEST(FirstLook, AConfigThatIsNotThereIsAnsweredWithThoseOfTheStage) {
  const auto end = larmor_program({"config", "show", "survival", "-c", "cohrt"});
  EXPECT_EQ(end.status, 2);
  EXPECT_THAT(end.err, HasSubstr("with the stage risk of survival"));
  EXPECT_THAT(end.err, HasSubstr("did you mean cohort?"));
  const auto stage = larmor_program({"config", "show", "survival", "--stage", "risks"});
  EXPECT_EQ(stage.status, 2);
  EXPECT_THAT(stage.err, HasSubstr("survival has no stage risks"));
}

TEST(FirstLook, TheFirstStepOfTinyIsLoggedAndTheRunIsFinished) {
  const ScratchFolder scratch;
  const auto end =
      larmor_program({"train", "latent_diffusion", "-c", "tiny", "train.length=12st", "--ranks", "1"},
                     {.folder = scratch.path()});
  ASSERT_EQ(end.status, 0) << end.err;
  const auto run = scratch.path() / end.run_folder();
  EXPECT_EQ(events_of(run, "step").size(), 12U);
  EXPECT_TRUE(std::filesystem::exists(run / "DONE"));
}

}  // namespace
}  // namespace larmor::testing
