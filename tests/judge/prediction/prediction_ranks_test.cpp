// The dealing out of cases, to ranks that are shell scripts: what becomes of a case is told by what they say.
#include "larmor/judge/prediction/prediction_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// A rank that answers with the number of each case, after it has done `before` with it.
ProcessOptions rank_that(const std::string& before) {
  ProcessOptions options;
  options.program = "/bin/sh";
  options.arguments = {
      "-c",
      "echo ready >&0; while read n; do " + before +
          R"(; echo '{"files": [], "numbers": [["n", '$n']], "words": [], "missing": [], "failure": "",)"
          R"( "hint": "", "exit": 0}' >&0; done)"};
  return options;
}

std::vector<PredictionCase> cases(int count) {
  std::vector<PredictionCase> all;
  for (int i = 0; i < count; ++i) {
    const auto name = "case " + std::to_string(i);
    all.push_back({.name = name, .label = name, .inputs = {}});
  }
  return all;
}

const std::function<void(const PredictionCase&)> silent = [](const PredictionCase&) {};

TEST(PredictionRanks, ResultsComeInTheOrderOfTheCasesWhoeverIsFaster) {
  const auto results = deal_out(cases(7), {rank_that("sleep 0.1"), rank_that(":"), rank_that(":")}, silent);
  ASSERT_EQ(results.size(), 7U);
  for (size_t i = 0; i < results.size(); ++i)
    EXPECT_EQ(results[i].numbers.at(0).second, static_cast<double>(i));
}

TEST(PredictionRanks, OneThatIsKilledCostsTheCaseThatItWasAtAndNothingElse) {
  const auto dies_at_2 = rank_that("if [ $n = 2 ]; then kill -9 $$; fi");
  for (const size_t count : {1, 2}) {
    const auto results = deal_out(cases(6), std::vector(count, dies_at_2), silent);
    for (size_t i = 0; i < results.size(); ++i) {
      if (i == 2) continue;
      ASSERT_EQ(results[i].failure, "") << "of " << count;
      EXPECT_EQ(results[i].numbers.at(0).second, static_cast<double>(i));
    }
    EXPECT_EQ(results[2].exit, Exit::rank_lost);
    EXPECT_THAT(results[2].failure, HasSubstr("case 2"));
    EXPECT_THAT(results[2].failure, HasSubstr("SIGKILL"));
  }
}

TEST(PredictionRanks, OneThatStandsStillIsNamedAndCostsTheCaseThatItWasAt) {
  HangLimits soon;
  soon.fixed = 1;
  const auto stops_at_2 = rank_that("if [ $n = 2 ]; then kill -STOP $$; fi");
  for (const size_t count : {1, 2}) {
    const auto results = deal_out(cases(6), std::vector(count, stops_at_2), silent, soon);
    for (size_t i = 0; i < results.size(); ++i) {
      if (i == 2) continue;
      EXPECT_EQ(results[i].failure, "") << i << " of " << count;
    }
    EXPECT_EQ(results[2].exit, Exit::rank_lost);
    EXPECT_THAT(results[2].failure, AllOf(HasSubstr("case 2: rank "), HasSubstr("hangs: no heartbeat for "),
                                          HasSubstr("its process is stopped by a signal")));
  }
}

TEST(PredictionRanks, OneThatShowsHeartbeatsMayTakeLongerThanTheLimit) {
  HangLimits soon;
  soon.fixed = 1;
  const auto slow = rank_that("for i in 1 2 3 4 5 6; do sleep 0.4; echo beat >&0; done");
  EXPECT_EQ(deal_out(cases(1), {slow}, silent, soon).at(0).failure, "");
}

/// As a rank whose GPU is lost: it ends at a case, and none can be started there again.
TEST(PredictionRanks, ThatAreAllGoneLeaveTheCasesThatWereDoneAndNameTheOthers) {
  const ScratchFolder scratch;
  const std::string mark = (scratch.path() / "lost").string();
  auto lost = rank_that("if [ $n = 2 ]; then touch " + mark + "; exit 7; fi");
  lost.arguments[1] = "if [ -e " + mark + " ]; then exit 1; fi; " + lost.arguments[1];
  const auto results = deal_out(cases(5), {lost}, silent);
  ASSERT_EQ(results.size(), 5U);
  EXPECT_EQ(results[1].numbers.at(0).second, 1);
  EXPECT_THAT(results[2].failure, HasSubstr("case 2: rank 0 ended with it"));
  for (const size_t i : {size_t{3}, size_t{4}}) {
    EXPECT_THAT(results[i].failure, HasSubstr("not tried"));
    EXPECT_EQ(results[i].exit, Exit::checkpoint);
  }
}

TEST(PredictionRanks, WithoutAnyThatCanStartTheCallEndsAsTheyDid) {
  ProcessOptions unfit;
  unfit.program = "/bin/sh";
  unfit.arguments = {"-c", "exit 7"};
  try {
    deal_out(cases(3), {unfit, unfit}, silent);
    FAIL() << "nobody was there";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::checkpoint);
    EXPECT_THAT(error.message(), HasSubstr("3 of 3 cases"));
  }
}

}  // namespace
}  // namespace larmor::testing
