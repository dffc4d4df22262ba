#include "larmor/train/step/data_wait.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace larmor {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

LoadSeconds mostly(LoadStage stage, double seconds) {
  LoadSeconds stages{};
  stages.fill(0.01);
  stages[static_cast<size_t>(stage)] = seconds;
  return stages;
}

TEST(DataWait, SaysNothingWhileStepsHardlyWait) {
  DataWait wait({.workers = 1, .free_cores = 4});
  wait.add_step(1, 0.09, mostly(LoadStage::decompress, 0.9));
  EXPECT_EQ(wait.verdict(), "");
  EXPECT_EQ(DataWait({}).verdict(), "") << "no step yet";
}

TEST(DataWait, NamesTheStageAndTheWorkersThatWouldDo) {
  DataWait wait({.workers = 1, .free_cores = 4});
  for (int step = 0; step < 10; ++step) wait.add_step(1, 0.34, mostly(LoadStage::decompress, 1.6));
  // 1.65 s of work for 0.66 s of computing.
  EXPECT_EQ(wait.verdict(),
            "waiting for data 34 %: decompress; raise data.workers to 3, or run `larmor prepare` and set "
            "data.cache=full");
  EXPECT_EQ(wait.verdict(), "") << "each step is judged once";
}

TEST(DataWait, AdvisesNoMoreWorkersThanThereAreCoresFor) {
  DataWait wait({.workers = 1, .free_cores = 1});
  wait.add_step(1, 0.5, mostly(LoadStage::resample, 2));
  EXPECT_THAT(wait.verdict(),
              AllOf(HasSubstr("resample; run `larmor prepare`"), Not(HasSubstr("data.workers"))));
}

TEST(DataWait, KnowsThatAPreparedCacheDoesNotSaveWhatIsRandom) {
  DataWait wait({.workers = 2, .free_cores = 0});
  wait.add_step(1, 0.5, mostly(LoadStage::augment, 2));
  EXPECT_THAT(wait.verdict(),
              AllOf(HasSubstr("50 %: augment"), HasSubstr("cheaper transforms"), Not(HasSubstr("prepare"))));
  DataWait prepared({.workers = 2, .free_cores = 0, .is_prepared = true});
  prepared.add_step(1, 0.5, mostly(LoadStage::read, 2));
  EXPECT_THAT(prepared.verdict(), Not(HasSubstr("prepare")));
}

}  // namespace
}  // namespace larmor
