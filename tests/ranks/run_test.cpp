#include "larmor/ranks/run.h"

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace larmor::ranks {
namespace {

void end_process(const std::exception_ptr&) { std::_Exit(3); }

Job of_threads(int count) {
  Job job;
  for (int rank = 0; rank < count; ++rank) job.plan.ranks.push_back({.device = -1, .cores = {}});
  if (count > 1) job.means = Job::Means::threads;
  return job;
}

TEST(Run, ReadsOnceWhatAllThreadsShareAndConnectsThem) {
  for (const int count : {1, 3}) {
    int readings = 0;
    std::mutex mutex;
    std::set<int> seen;
    std::atomic<int> sum = 0;
    const auto job = of_threads(count);
    const auto end = run(
        job,
        [&] {
          ++readings;
          return [&](LiveRank& rank) {
            const auto communicator = rank.connect_watched(job.plan);
            rank.enter(Phase::computing, 1);
            const auto one = at::ones({1});
            communicator->all_reduce(one, Reduce::sum).wait();
            sum += one.item<int>();
            const std::lock_guard lock(mutex);
            seen.insert(rank.place().index);
          };
        },
        end_process);
    EXPECT_EQ(end.exit, Exit::done);
    EXPECT_EQ(readings, 1) << count;
    EXPECT_EQ(std::ssize(seen), count);
    EXPECT_EQ(sum, count * count) << "each of all";
  }
}

TEST(Run, ThrowsWhatARankThrew) {
  for (const int count : {1, 2}) {
    const auto job = of_threads(count);
    const auto act = [&] {
      run(
          job,
          [&] {
            return [&](LiveRank& rank) {
              const auto communicator = rank.connect_watched(job.plan);
              if (rank.is_first()) throw std::runtime_error("rank 0 is ill");
              communicator->barrier();
            };
          },
          end_process);
    };
    EXPECT_THROW(
        {
          try {
            act();
          } catch (const std::runtime_error& error) {
            EXPECT_STREQ(error.what(), "rank 0 is ill");
            throw;
          }
        },
        std::runtime_error);
  }
}

}  // namespace
}  // namespace larmor::ranks
