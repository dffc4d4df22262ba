// A run whose length is a time: its schedule follows the share of the time that is over.
#include <gtest/gtest.h>

#include "larmor/base/clock.h"
#include "larmor/base/text.h"

#include "tests/processes/support/small_training.h"

namespace larmor::testing {
namespace {

constexpr double seconds = 3600, peak = 0.002;

class TimedRun : public ::testing::TestWithParam<int> {
 protected:
  void train(std::vector<std::string> words, int64_t until) const {
    words.insert(words.end(), {"--steps", text(until)});
    const auto ended = larmor_program(words, {.folder = scratch_.path()});
    ASSERT_EQ(ended.status, 0) << ended.err;
  }
  /// The shares of the run's steps; each step has to have the rate that its share asks for.
  std::vector<double> checked_shares() const {
    std::vector<double> shares;
    for (const auto& event : events_of(scratch_.path() / "runs" / "timed", "step")) {
      const auto& values = event.at("values");
      shares.push_back(values.at("optim/run_share").get<double>());
      EXPECT_NEAR(values.at("optim/learning_rate").get<double>(), peak * (1 - shares.back()), peak * 1e-9);
    }
    return shares;
  }

  ScratchFolder scratch_;
};

TEST_P(TimedRun, BringsTheRateDownByTheTimeThatIsOverAndGoesOnFromThere) {
  const SystemClock clock;
  const double started = clock.steady_seconds();
  auto words = with(small_training("timed", GetParam()), "train.length", text(seconds, "s"));
  words.insert(words.end(), {"optim.schedule={name: warmup_linear, warmup: 0st, final_rate: 0}",
                             text("optim.learning_rate=", peak)});
  train(words, 3);
  const auto half = checked_shares();
  ASSERT_EQ(half.size(), 3U);
  EXPECT_EQ(half[0], 0);

  train({"train", "timed"}, 5);
  const auto all = checked_shares();
  ASSERT_EQ(all.size(), 5U);
  for (size_t step = 1; step < all.size(); ++step) EXPECT_GT(all[step], all[step - 1]) << step;
  EXPECT_EQ(std::vector(all.begin(), all.begin() + 3), half);
  EXPECT_LT(all.back() * seconds, clock.steady_seconds() - started);
}

INSTANTIATE_TEST_SUITE_P(Ranks, TimedRun, ::testing::Values(1, 2));

}  // namespace
}  // namespace larmor::testing
