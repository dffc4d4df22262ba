#include "larmor/launch/rank_threads.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include "larmor/base/error.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double long_enough = 30;  // seconds

void give_up(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    std::fputs(error.what(), stderr);
  }
  std::_Exit(3);
}

/// Ranks that do as they are told; the words of what comes out of it.
std::string outcome_of(const std::vector<std::function<void()>>& lives) {
  std::vector<RankThread> ranks;
  for (const auto& live : lives) ranks.push_back({.live = live});
  try {
    run_rank_threads(ranks, long_enough, give_up);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "done";
}

std::string name_of_this_thread() {
  char name[16] = {};
  pthread_getname_np(pthread_self(), name, sizeof(name));
  return name;
}

TEST(RankThreads, LiveTogetherUnderTheirNames) {
  std::vector<std::string> names(2);
  std::promise<void> first, second;
  EXPECT_EQ(outcome_of({[&] {
                          names[0] = name_of_this_thread();
                          first.set_value();
                          second.get_future().wait();
                        },
                        [&] {
                          names[1] = name_of_this_thread();
                          first.get_future().wait();
                          second.set_value();
                        }}),
            "done");
  EXPECT_THAT(names, ElementsAre("rank 0", "rank 1"));
  EXPECT_NE(name_of_this_thread(), "rank 0");
}

TEST(RankThreads, StayOnTheirCores) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  int core = 0;
  while (!CPU_ISSET(static_cast<size_t>(core), &allowed)) ++core;
  std::vector<int> counts(3);
  const auto count = [&](size_t rank) {
    return [&counts, rank] {
      cpu_set_t own;
      sched_getaffinity(0, sizeof(own), &own);
      counts[rank] = CPU_COUNT(&own);
    };
  };
  constexpr int nowhere = 1000;
  run_rank_threads(
      {{.live = count(0), .cores = {core}}, {.live = count(1), .cores = {core, nowhere}}, {.live = count(2)}},
      long_enough, give_up);
  EXPECT_THAT(counts, ElementsAre(1, CPU_COUNT(&allowed), CPU_COUNT(&allowed)))
      << "cores that are not there say that the plan is another host's";
}

TEST(RankThreads, EndWithTheFailureBehindTheEchoes) {
  std::promise<void> echoed;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(outcome_of({[&] {
                          echoed.set_value();
                          fail(Exit::rank_lost, "rank 0 waits for rank 1, which is gone");
                        },
                        [&] {
                          echoed.get_future().wait();
                          throw std::runtime_error("no such file");
                        }}),
            "no such file");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("rank 1 was the first that failed"));
  EXPECT_EQ(outcome_of({[] { fail(Exit::rank_lost, "shut out"); }, [] {}}), "shut out")
      << "where there is nothing else";
}

TEST(RankThreads, WaitForAllOfThemWhereOneFails) {
  std::atomic<bool> has_ended = false;
  EXPECT_EQ(outcome_of({[] { throw std::runtime_error("mine"); },
                        [&] {
                          std::this_thread::sleep_for(std::chrono::milliseconds(100));
                          has_ended = true;
                        }}),
            "mine");
  EXPECT_TRUE(has_ended);
}

TEST(RankThreadsDeathTest, AreGivenUpWhereOneOutlivesAFailure) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto hang = [] { std::this_thread::sleep_for(std::chrono::hours(1)); };
  const auto fall = [] { fail(Exit::data, "a bad file"); };
  EXPECT_EXIT(run_rank_threads({{.live = hang}, {.live = fall}}, /*grace_seconds=*/0.1, give_up),
              ::testing::ExitedWithCode(3), "a bad file");
}

}  // namespace
}  // namespace larmor
