// Runs of a simulated cluster by their seeds, and what they promise.
#pragma once

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"

#include "tests/launch/support/simulated_cluster.h"

namespace larmor {

class SimulatedRuns : public ::testing::Test {
 protected:
  void SetUp() override { log::set_console(log::Level::error); }
  void TearDown() override { log::set_console(log::Level::info); }
  PlayedRun play(unsigned seed, const PlantedMistakes& mistakes = {}) const {
    return SimulatedCluster(seed, scratch_.path(), mistakes).play();
  }
  struct Played {
    int done = 0, untouched = 0, requeued = 0;
  };
  Played play_all(unsigned first, unsigned end) const {
    Played played;
    for (unsigned seed = first; seed < end && !HasFailure(); ++seed) {
      const auto run = play(seed);
      const bool is_done = run.leader_lives && run.ending.exit == Exit::done;
      EXPECT_THAT(run.broken, ::testing::IsEmpty()) << "seed " << seed << "\n" << join(run.struck, "\n");
      EXPECT_TRUE(!is_done || run.committed == SimulatedCluster::length) << "seed " << seed;
      EXPECT_TRUE(is_done || !run.struck.empty()) << "seed " << seed << ": " << run.ending.message;
      played.done += is_done ? 1 : 0;
      played.untouched += run.struck.empty() ? 1 : 0;
      played.requeued += run.jobs > 1 ? 1 : 0;
    }
    return played;
  }
  /// How many of so many runs break a promise whose words these are in.
  int broken(unsigned runs, const std::string& words, const PlantedMistakes& mistakes) const {
    int count = 0;
    for (unsigned seed = 0; seed < runs; ++seed) {
      const auto run = play(seed, mistakes);
      count += std::ranges::any_of(run.broken,
                                   [&](const auto& each) { return each.find(words) != std::string::npos; })
                   ? 1
                   : 0;
    }
    return count;
  }
  ScratchFolder scratch_;
};

}  // namespace larmor
