#include "larmor/config/checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/config/support/made_up_workload.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Checks, LetASchedulesLengthBeATime) {
  for (const char* name :
       {"constant", "warmup_cosine", "warmup_linear", "cosine_warm_restarts", "onecycle"}) {
    const std::string schedule = std::string("optim.schedule.name=") + name;
    EXPECT_EQ(refusal_of_overrides({"train.length=600s", schedule}), "");
    EXPECT_EQ(refusal_of_overrides({"train.length=600s", schedule, "optim.schedule.steps=500"}), "");
  }
}

TEST(Checks, SayOnceWhatObjectivesInherit) {
  EXPECT_THAT(refusal_of_overrides({"optim.schedule={name: warmup_cosine, warmup: 30s}"}),
              Not(HasSubstr("optim.generator")));
  EXPECT_THAT(refusal_of_overrides({"optim.generator.betas=[0.9]"}),
              HasSubstr("optim.generator.betas has to be two numbers"));
}

std::string refusal_of_cosine(std::vector<std::string> overrides) {
  overrides.insert(overrides.begin(), "optim.schedule.name=warmup_cosine");
  return refusal_of_overrides(overrides);
}

TEST(Checks, WantAWarmupThatFitsTheSchedule) {
  EXPECT_THAT(refusal_of_cosine({"optim.schedule.warmup=30s"}),
              HasSubstr("optim.schedule.warmup has to be in epochs"));
  EXPECT_THAT(refusal_of_cosine({"optim.schedule.warmup=100ep"}),
              HasSubstr("(100ep) leaves nothing of the schedule, which spans 100ep"));
  EXPECT_THAT(refusal_of_cosine({"train.length=50st", "optim.schedule.warmup=60st"}),
              HasSubstr("leaves nothing"));
  EXPECT_THAT(refusal_of_cosine({"optim.schedule.steps=10", "optim.schedule.warmup=10st"}),
              HasSubstr("leaves nothing"));
  EXPECT_EQ(refusal_of_cosine({"optim.schedule.steps=10", "optim.schedule.warmup=9st"}), "");
  EXPECT_EQ(refusal_of_overrides({"optim.schedule.name=constant", "optim.schedule.warmup=100ep"}), "");
}

TEST(Checks, WantSchedulesThatCanRiseAndRestart) {
  EXPECT_THAT(
      refusal_of_overrides({"optim.schedule.name=cosine_warm_restarts", "optim.schedule.first_period=0"}),
      HasSubstr("optim.schedule.first_period has to be more than 0"));
  EXPECT_THAT(
      refusal_of_overrides({"optim.schedule.name=cosine_warm_restarts", "optim.schedule.warmup=100ep"}),
      HasSubstr("leaves nothing of the schedule"));
  EXPECT_THAT(refusal_of_overrides({"optim.schedule.name=onecycle", "optim.schedule.peak=0"}),
              HasSubstr("optim.schedule.peak has to be more than 0"));
  for (const char* rise : {"0", "0.5", "1"}) {
    EXPECT_EQ(
        refusal_of_overrides({"optim.schedule.name=onecycle", std::string("optim.schedule.rise=") + rise,
                              "optim.schedule.warmup=100ep"}),
        "")
        << "a cycle has no other warm-up than its rise";
  }
  EXPECT_EQ(refusal_of_overrides({"optim.schedule.first_period=0", "optim.schedule.peak=0"}), "")
      << "nobody reads them";
}

TEST(Checks, WantMilestonesInStepsOrEpochsOneAfterTheOther) {
  const auto refusal_of_milestones = [](const char* milestones) {
    return refusal_of_overrides(
        {"optim.schedule.name=multistep", std::string("optim.schedule.milestones=") + milestones});
  };
  EXPECT_EQ(refusal_of_milestones("[30ep, 60ep]"), "");
  EXPECT_THAT(refusal_of_milestones("[]"), HasSubstr("is needed for multistep"));
  EXPECT_THAT(refusal_of_milestones("[60ep, 30ep]"), HasSubstr("got 30ep behind 60ep"));
  EXPECT_THAT(refusal_of_milestones("[2h]"), HasSubstr("in epochs (30ep) or steps"));
  EXPECT_THAT(refusal_of_milestones("[soon]"), HasSubstr("are not understood"));
}

TEST(Checks, WantValidationsForAPlateauAndAnAverageToValidateWith) {
  EXPECT_THAT(refusal_of_overrides({"optim.schedule.name=plateau", "train.validate_every=0"}),
              HasSubstr("goes by validations"));
  EXPECT_EQ(refusal_of_overrides({"optim.schedule.name=plateau"}), "");
  EXPECT_THAT(refusal_of_overrides({"train.validate_with=average"}), HasSubstr("set optim.ema_decay"));
  EXPECT_EQ(refusal_of_overrides({"train.validate_with=average", "optim.ema_decay=0.9"}), "");
}

TEST(Checks, WantARunThatTakesTime) {
  EXPECT_THAT(refusal_of_overrides({"train.length=0"}), HasSubstr("train.length has to be more than 0"));
}

TEST(Checks, WantFractionsThatFitIntoOne) {
  EXPECT_THAT(refusal_of_overrides({"data.split.train=0.9"}), HasSubstr("add up to 1.1"));
  EXPECT_EQ(refusal_of_overrides({"data.split.train=0.7", "data.split.val=0.2"}), "");
  EXPECT_EQ(refusal_of_overrides({"data.split.train=0.9", "data.split.val=[sub-01, 7]"}), "");
  EXPECT_THAT(refusal_of_overrides({"data.split.val=1.5"}),
              HasSubstr("data.split.val has to be a fraction from 0 to 1, or a list of patients; got 1.5"));
  EXPECT_THAT(refusal_of_overrides({"data.split.val=many"}),
              HasSubstr("data.split.val has to be a fraction"));
  EXPECT_THAT(refusal_of_overrides({"data.split.val=[[a]]"}),
              HasSubstr("data.split.val has to be a fraction"));
  EXPECT_THAT(refusal_of_overrides({"data.split.val=~"}), HasSubstr("data.split.val has to be a fraction"));
}

TEST(Checks, BoundDecaysBelowOne) {
  EXPECT_THAT(refusal_of_overrides({"optim.betas=[0.9, 1]"}),
              HasSubstr("optim.betas has to be two numbers of at least 0 and below 1"));
  EXPECT_THAT(refusal_of_overrides({"optim.betas=[0.9, 0.99, 0.999]"}),
              HasSubstr("optim.betas has to be two numbers"));
  EXPECT_THAT(refusal_of_overrides({"optim.ema_decay=1"}),
              HasSubstr("optim.ema_decay has to be below 1; got 1"));
}

TEST(Checks, WantARunNameThatIsOneFolder) {
  for (const char* name : {"a/b", "..", ".", "latest", "''"}) {
    EXPECT_THAT(refusal_of_overrides({std::string("run.name=") + name}), HasSubstr("run.name ")) << name;
  }
  EXPECT_EQ(refusal_of_overrides({"run.name=2024-01-01"}), "");
  EXPECT_THAT(refusal_of_overrides({"run.folder="}), HasSubstr("run.folder is empty"));
}

TEST(Checks, WantDataThatCanBeFound) {
  EXPECT_THAT(refusal_of_overrides({"data.kind=list"}), HasSubstr("data.list is needed for kind list"));
  EXPECT_THAT(refusal_of_overrides({"data.phantom_size=[8, 8]"}),
              HasSubstr("data.phantom_size has to have 3 entries; got 2"));
  EXPECT_THAT(refusal_of_overrides({"data.transforms={a: 1}"}),
              HasSubstr("data.transforms has to be a list of steps"));
}

TEST(Checks, WantAWindowThatComesToEveryCase) {
  EXPECT_THAT(refusal_of_overrides({"data.cache=smart", "data.replace_rate=0"}),
              HasSubstr("data.replace_rate has to be more than 0"));
  EXPECT_THAT(refusal_of_overrides({"data.cache_rate=0"}),
              HasSubstr("data.cache_rate has to be more than 0"));
  EXPECT_EQ(refusal_of_overrides({"data.cache=smart", "data.cache_rate=0.3", "data.replace_rate=1"}), "");
}

TEST(DataCache, TakesAFolderAndABudgetOrAuto) {
  const DataConfig chosen =
      load_overrides({"data.cache=full", "data.cache_folder=/scratch", "data.budget=3GiB"}).config.data;
  EXPECT_EQ(chosen.cache_folder, "/scratch");
  EXPECT_EQ(chosen.budget_bytes, int64_t{3} << 30);
  const DataConfig left = load_overrides({"data.cache_folder=auto", "data.budget=auto"}).config.data;
  EXPECT_EQ(left.cache_folder, "");
  EXPECT_EQ(left.budget_bytes, std::nullopt);
}

TEST(Checks, NameTheOriginOfTheValue) {
  const ConfigFile file("train:\n  length: 0\n");
  EXPECT_THAT(refusal_of(file.sources()), HasSubstr("default.yaml:2: train.length"));
}

}  // namespace
}  // namespace larmor
