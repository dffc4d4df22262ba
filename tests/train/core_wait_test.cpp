#include "larmor/train/core_wait.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace larmor {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// What a rank says that counts every ten seconds, in each of which the same happens.
class WaitingRank {
 public:
  explicit WaitingRank(int threads = 2, std::vector<int> cores = {0, 1}) : wait_(std::move(cores), threads) {}

  std::string say(int counts, const CoreSeconds& each) {
    std::string said;
    for (int i = 0; i < counts; ++i) {
      now_ += 10;
      all_.ran += each.ran;
      all_.waited += each.waited;
      all_.busy += each.busy;
      said += wait_.add(now_, all_);
    }
    return said;
  }

 private:
  CoreWait wait_;
  double now_ = 1000;
  CoreSeconds all_{.ran = 50, .waited = 70, .busy = 90000};
};

/// Six others on two cores: each thread has a quarter of one.
constexpr CoreSeconds crowded{.ran = 5, .waited = 15, .busy = 20};
constexpr CoreSeconds alone{.ran = 19, .waited = 0.1, .busy = 19.5};

TEST(CoreWait, IsSaidOnceWhenItHasLastedForHalfAMinute) {
  WaitingRank rank;
  EXPECT_EQ(rank.say(3, crowded), "") << "twenty seconds: the first count begins";
  const auto said = rank.say(1, crowded);
  EXPECT_THAT(said, AllOf(HasSubstr("other programs use 1.5 of this rank's 2 cores"),
                          HasSubstr("in 30 s its threads were kept waiting for 75 %"),
                          HasSubstr("cores of its own"), HasSubstr("parallel.threads=1,")));
  EXPECT_EQ(rank.say(100, crowded), "");
}

TEST(CoreWait, OfOneThreadAdvisesCoresAlone) {
  EXPECT_THAT(WaitingRank(1).say(9, {.ran = 2.5, .waited = 7.5, .busy = 20}),
              AllOf(HasSubstr("cores of its own"), Not(HasSubstr("parallel.threads"))));
}

TEST(CoreWait, IsNotSaidOfAQuietMachine) { EXPECT_EQ(WaitingRank().say(100, alone), ""); }

TEST(CoreWait, IsNotSaidOfAShortCrowd) {
  WaitingRank rank;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(rank.say(2, crowded) + rank.say(1, alone), "");
}

TEST(CoreWait, IsNotSaidOfThreadsThatKeepOneAnotherWaiting) {
  EXPECT_EQ(WaitingRank().say(100, {.ran = 20, .waited = 20, .busy = 20}), "")
      << "the loader's beside those that compute";
}

TEST(CoreWait, IsNotSaidWhereOthersUseCoresThatTheRankLeaves) {
  EXPECT_EQ(WaitingRank().say(100, {.ran = 10, .waited = 0.5, .busy = 20}), "");
}

TEST(CoreWait, ForgetsWhatAThreadThatEndedHasWaited) {
  WaitingRank rank;
  rank.say(1, crowded);
  EXPECT_EQ(rank.say(5, {.ran = 5, .waited = -15, .busy = 20}), "");
}

TEST(CoreWait, IsNotWatchedWhereRanksShareCoresByPlan) {
  Plan plan;
  plan.ranks.assign(4, RankSeat{-1, {}});
  CoreWait wait(plan, 1);
  for (int now = 0; now < 1000; now += 10) EXPECT_EQ(wait.look(now), "");
}

TEST(CoreWait, IsCountedOfThisProcess) {
  const auto first = count_core_seconds({0});
  if (!first) GTEST_SKIP() << "this kernel does not count what threads wait for";
  const auto last = count_core_seconds({0});
  ASSERT_TRUE(last);
  EXPECT_GT(first->ran, 0);
  EXPECT_GE(last->ran, first->ran);
  EXPECT_GE(last->busy, first->busy);
  EXPECT_EQ(count_core_seconds({1 << 20}), std::nullopt) << "there is no such core";
}

}  // namespace
}  // namespace larmor
