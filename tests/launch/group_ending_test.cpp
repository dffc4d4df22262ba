#include "larmor/launch/group_ending.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace larmor {
namespace {

Death ended(int rank, int status, int round = 1) {
  return {.how = {.rank = rank, .ending = {status, 0}, .phase = Phase::computing, .step = 12},
          .round = round};
}
Death killed(int rank, int signal, int round = 1) {
  return {.how = {.rank = rank, .ending = {0, signal}, .phase = Phase::saving, .step = 40}, .round = round};
}
Death lost(int rank, int round = 1) {
  return {.how = {.rank = rank, .lost = true, .phase = Phase::computing, .step = 7, .evidence = "silence"},
          .round = round};
}
Death by_us(Death death) {
  death.by_us = true;
  return death;
}

TEST(IsFailure, IsARanksOwnEndAndNoneThatWasAskedFor) {
  EXPECT_TRUE(is_failure(ended(0, 1)));
  EXPECT_TRUE(is_failure(ended(0, 8)));
  EXPECT_TRUE(is_failure(killed(0, SIGKILL)));
  EXPECT_TRUE(is_failure(lost(0)));
  EXPECT_TRUE(is_failure(by_us(lost(0))));
  EXPECT_FALSE(is_failure(ended(0, 0)));
  EXPECT_FALSE(is_failure(ended(0, 75)));
  EXPECT_FALSE(is_failure(by_us(killed(0, SIGKILL))));
}

TEST(Describe, SaysHowWhereAndWhatElseIsKnown) {
  EXPECT_EQ(describe(ended(3, 6)), "rank 3 ended with exit status 6 while computing step 12");
  EXPECT_EQ(describe(killed(1, SIGSEGV)), "rank 1 was killed by SIGSEGV while saving step 40");
  EXPECT_EQ(describe(lost(2)), "rank 2 was lost while computing step 7: silence");
  Death of_threads = killed(0, SIGSEGV);
  of_threads.how.ranks = 4;
  EXPECT_EQ(describe(of_threads), "the process of ranks 0 to 3 was killed by SIGSEGV while saving step 40");
}

TEST(FirstCause, IsNobodyWhereNobodyFailed) {
  EXPECT_EQ(first_cause({}), std::nullopt);
  EXPECT_EQ(first_cause({std::nullopt, std::nullopt}), std::nullopt);
  EXPECT_EQ(first_cause({ended(0, 0), ended(1, 75), by_us(killed(2, SIGTERM)), std::nullopt}), std::nullopt);
}

TEST(FirstCause, IsTheFailureThatCameFirst) {
  EXPECT_EQ(first_cause({ended(0, 3, 5), ended(1, 4, 2), ended(2, 5, 9)}), 1U);
  EXPECT_EQ(first_cause({std::nullopt, std::nullopt, killed(2, SIGKILL)}), 2U);
}

TEST(FirstCause, IsASignalAmongThoseOfOneMomentAndThenTheLowestRank) {
  EXPECT_EQ(first_cause({ended(0, 1), killed(1, SIGSEGV), killed(2, SIGSEGV)}), 1U);
  EXPECT_EQ(first_cause({ended(0, 1), ended(1, 1)}), 0U);
}

TEST(FirstCause, LooksBehindTheEchoesOfAnothersEnd) {
  EXPECT_EQ(first_cause({ended(0, 8, 1), ended(1, 8, 1), ended(2, 3, 4)}), 2U);
  EXPECT_EQ(first_cause({ended(0, 8, 1), lost(1, 4)}), 1U);
  EXPECT_EQ(first_cause({ended(0, 8, 3), ended(1, 8, 2)}), 1U) << "with nothing behind them, the first echo";
}

TEST(EndingBy, PassesOnAStatusOfOursAndNamesTheRest) {
  const struct {
    Death death;
    Exit exit;
  } table[] = {{ended(1, 2), Exit::usage},        {ended(1, 5), Exit::memory},
               {ended(1, 8), Exit::rank_lost},    {ended(1, 9), Exit::no_progress},
               {ended(1, 1), Exit::unexpected},   {ended(1, 10), Exit::unexpected},
               {ended(1, 139), Exit::unexpected}, {killed(1, SIGABRT), Exit::rank_lost},
               {lost(1), Exit::rank_lost}};
  for (const auto& [death, exit] : table) {
    const GroupEnding ending = ending_by(death);
    EXPECT_EQ(ending.exit, exit) << describe(death);
    EXPECT_EQ(ending.raw_status, static_cast<int>(exit));
    EXPECT_EQ(ending.first_rank, 1);
    EXPECT_EQ(ending.message, describe(death));
  }
}

GroupEnding ending_with(Exit exit, bool was_asked) {
  GroupEnding ending;
  ending.exit = exit;
  ending.was_asked = was_asked;
  return ending;
}

TEST(GroupEnding, IsWorthARestartWhereAnotherStartMayDoBetter) {
  for (const Exit exit : {Exit::done, Exit::usage, Exit::data, Exit::environment, Exit::memory,
                          Exit::numerics, Exit::checkpoint, Exit::no_progress, Exit::stopped}) {
    EXPECT_FALSE(ending_with(exit, false).is_worth_a_restart()) << static_cast<int>(exit);
  }
  for (const Exit exit : {Exit::rank_lost, Exit::unexpected}) {
    EXPECT_TRUE(ending_with(exit, false).is_worth_a_restart());
    EXPECT_FALSE(ending_with(exit, true).is_worth_a_restart())
        << "a rank that failed while the group was stopping";
  }
}

}  // namespace
}  // namespace larmor
