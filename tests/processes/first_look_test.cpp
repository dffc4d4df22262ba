// What a stranger types first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/processes/support/program_run.h"

namespace larmor::testing {
namespace {

using ::testing::HasSubstr;

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
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all[0]["workload"], "latent_diffusion");
  EXPECT_THAT(all[0]["configs"].dump(), HasSubstr("tiny"));
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
