#include "larmor/optim/schedule.h"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;

TEST(LearningRate, StaysAtThePeakWhenConstant) {
  for (const int64_t step : {0, 5, 1000}) EXPECT_EQ(learning_rate({}, 3e-4, {10, 2}, step), 3e-4);
}

TEST(LearningRate, RisesThenFallsAlongACosine) {
  ScheduleConfig config;
  config.name = "warmup_cosine";
  config.start = 0.1;
  config.final_rate = 1e-6;
  const ScheduleSteps steps{.total = 105, .warmup = 4};
  const auto rate = [&](int64_t step) { return learning_rate(config, 1e-3, steps, step); };
  EXPECT_DOUBLE_EQ(rate(0), 1e-4);
  EXPECT_DOUBLE_EQ(rate(2), 5.5e-4);
  EXPECT_DOUBLE_EQ(rate(4), 1e-3);
  EXPECT_NEAR(rate(54), (1e-3 + 1e-6) / 2, 1e-12);
  EXPECT_NEAR(rate(29), 1e-6 + (1e-3 - 1e-6) * 0.5 * (1 + std::sqrt(0.5)), 1e-12);
  EXPECT_DOUBLE_EQ(rate(104), 1e-6);
  EXPECT_DOUBLE_EQ(rate(500), 1e-6);
  for (int64_t step = 5; step < 105; ++step) EXPECT_LT(rate(step), rate(step - 1)) << step;
}

TEST(LearningRate, StartsAtThePeakWithoutAWarmUp) {
  ScheduleConfig config;
  config.name = "warmup_cosine";
  EXPECT_EQ(learning_rate(config, 1.0, {10, 0}, 0), 1.0);
  EXPECT_EQ(learning_rate(config, 1.0, {10, 0}, 9), 0.0);
  EXPECT_EQ(learning_rate(config, 1.0, {1, 0}, 0), 1.0) << "the only step of a run has to learn";
}

// The recorded rates are those of torch 2.11.0, one before each call of the scheduler's step(), of
//   torch.optim.lr_scheduler.<scheduler>(torch.optim.SGD([weight], lr=…), …)
// with the arguments that stand beside them.
void expect_rates(const ScheduleConfig& config, double peak, int64_t total,
                  const std::vector<double>& rates) {
  for (size_t step = 0; step < rates.size(); ++step) {
    EXPECT_NEAR(learning_rate(config, peak, {.total = total, .warmup = 0}, static_cast<int64_t>(step)),
                rates[step], 1e-12 * peak)
        << "step " << step << " of " << total;
  }
}

ScheduleConfig restarts(double first_period, double growth, double final_rate = 0) {
  ScheduleConfig config;
  config.name = "cosine_warm_restarts";
  config.first_period = first_period;
  config.period_growth = growth;
  config.final_rate = final_rate;
  return config;
}

TEST(WarmRestarts, EqualThoseOfPyTorch) {
  // lr=1e-3: CosineAnnealingWarmRestarts(o, T_0=5, T_mult=2, eta_min=1e-6), then (o, T_0=3, T_mult=1)
  expect_rates(restarts(0.25, 2, 1e-6), 1e-3, 20,
               {0.001,
                0.0009046039886902864,
                0.0006548539886902864,
                0.0003461460113097139,
                9.639601130971382e-05,
                0.001,
                0.0009755527298894294,
                0.0009046039886902864,
                0.0007940987335200904,
                0.0006548539886902864,
                0.0005005000000000001,
                0.0003461460113097139,
                0.00020690126647990973,
                9.639601130971382e-05,
                2.5447270110570814e-05,
                0.001,
                0.0009938503261272714,
                0.0009755527298894294,
                0.0009455577588320898,
                0.0009046039886902864});
  expect_rates(restarts(0.3, 1), 1e-3, 10,
               {0.001, 0.00075, 0.00025, 0.001, 0.00075, 0.00025, 0.001, 0.00075});
}

std::vector<int64_t> tops(const ScheduleConfig& config, const ScheduleSteps& steps) {
  std::vector<int64_t> found;
  for (int64_t step = 0; step < steps.total; ++step) {
    if (learning_rate(config, 1, steps, step) == 1) found.push_back(step);
  }
  return found;
}

TEST(WarmRestarts, GrowByAShareAndStillStartAtTheTopOfAWholeStep) {
  // 2, 3, 4.5, 6.75, 10.125 steps.
  EXPECT_THAT(tops(restarts(0.1, 1.5), {20, 0}), ElementsAre(0, 2, 5, 10, 17));
  // A first period of one step grows to 1.3, 1.69, 2.197, 2.8561 steps.
  EXPECT_THAT(tops(restarts(0.1, 1.3), {10, 0}), ElementsAre(0, 1, 2, 4, 6, 9));
  // A second period that is too long for its cosine to move.
  EXPECT_THAT(tops(restarts(0.5, 1e300), {8, 0}), ElementsAre(0, 4, 5, 6, 7));
}

TEST(WarmRestarts, ComeAfterTheWarmUp) {
  ScheduleConfig config = restarts(0.25, 1);
  config.start = 0.2;
  const ScheduleSteps steps{.total = 16, .warmup = 2};
  EXPECT_DOUBLE_EQ(learning_rate(config, 1, steps, 0), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(config, 1, steps, 1), 0.6);
  EXPECT_THAT(tops(config, steps), ElementsAre(2, 6, 10, 14));
}

TEST(WarmRestarts, WorkInRunsThatAreTooShortForThem) {
  for (const int64_t total : {1, 2, 3}) {
    for (int64_t step = 0; step < total; ++step)
      EXPECT_EQ(learning_rate(restarts(0.1, 1), 1, {total, 0}, step), 1) << "periods of one step";
  }
  EXPECT_EQ(learning_rate(restarts(1, 2), 1, {1, 0}, 0), 1);
}

ScheduleConfig cycle(double rise) {
  ScheduleConfig config;
  config.name = "onecycle";
  config.peak = 10;
  config.rise = rise;
  config.start = 0.1;
  config.final_rate = 1e-7;
  return config;
}

// DeepSpeed 0.16 WarmupDecayLR(total_num_steps=10, warmup_min_lr=1e-5, warmup_max_lr=1e-3,
// warmup_num_steps=4, warmup_type="linear"): the lowest rate and the rest times t / 4 in the rise, times (10
// - t) / 6 behind it.
TEST(WarmupLinear, FallsAsDeepSpeedsDoes) {
  ScheduleConfig config;
  config.name = "warmup_linear";
  config.start = 0.01;
  config.final_rate = 1e-5;
  const ScheduleSteps steps{.total = 10, .warmup = 4};
  const std::vector<double> shares{0, 0.25, 0.5, 0.75, 1, 5.0 / 6, 4.0 / 6, 0.5, 2.0 / 6, 1.0 / 6, 0, 0};
  for (size_t step = 0; step < shares.size(); ++step) {
    EXPECT_NEAR(learning_rate(config, 1e-3, steps, static_cast<int64_t>(step)), 1e-5 + 99e-5 * shares[step],
                1e-15)
        << step;
  }
  EXPECT_EQ(learning_rate(config, 1, {1, 0}, 0), 1) << "the only step has to learn";
  EXPECT_EQ(learning_rate(config, 1, {4, 4}, 4), 1) << "nothing is left to fall in";
}

// DeepSpeed 0.16 OneCycle(cycle_min_lr=1e-4, cycle_max_lr=1e-3, cycle_first_step_size=2,
// cycle_second_step_size=3): up by 9e-4 / 2 a step, down by 9e-4 / 3, and there it stays.
TEST(WarmupLinear, IsTheRateOfDeepSpeedsOneCycle) {
  ScheduleConfig config;
  config.name = "warmup_linear";
  config.start = 0.1;
  config.final_rate = 1e-4;
  const std::vector<double> rates{1e-4, 5.5e-4, 1e-3, 7e-4, 4e-4, 1e-4, 1e-4, 1e-4};
  for (size_t step = 0; step < rates.size(); ++step) {
    EXPECT_NEAR(learning_rate(config, 1e-3, {.total = 5, .warmup = 2}, static_cast<int64_t>(step)),
                rates[step], 1e-15)
        << step;
  }
}

TEST(OneCycle, EqualsThatOfPyTorch) {
  // lr=1e-4: OneCycleLR(o, max_lr=1e-3, total_steps=n, pct_start=rise, div_factor=100, final_div_factor=100,
  // cycle_momentum=False)
  expect_rates(cycle(0.3), 1e-4, 20, {1.0000000000000026e-05, 0.00010453658778440103, 0.00035203658778440103,
                                      0.000657963412215599,   0.0009054634122155989,  0.001,
                                      0.0009874652096953027,  0.0009504893855078144,  0.0008909266496598914,
                                      0.0008117637264392738,  0.0007169701753718231,  0.0006112993409314593,
                                      0.0005000499999999999,  0.00038880065906854065, 0.00028312982462817685,
                                      0.0001883362735607262,  0.00010917335034010849, 4.9610614492185605e-05,
                                      1.2634790304697281e-05, 1.0000000000000001e-07});
  expect_rates(cycle(0.25), 1e-4, 7,
               {1.0000000000000026e-05, 0.000994415971571253, 0.0008665392833213215, 0.0006112993409314593,
                0.0003173977548680208, 8.697192478071845e-05, 1.0000000000000001e-07});
  expect_rates(cycle(0.3), 1e-4, 3, {0.000994415971571253, 0.0004626886897114672, 1.0000000000000001e-07});
  expect_rates(cycle(0), 1e-4, 5,
               {0.0009045180463377549, 0.0006545430463377549, 0.00034555695366224505, 9.558195366224507e-05,
                1.0000000000000001e-07});
  expect_rates(
      cycle(1), 1e-4, 5,
      {1.0000000000000026e-05, 0.00015498214331265906, 0.000505, 0.000855017856687341, 0.001, 0.001, 0.001});
}

TEST(OneCycle, WorksWherePyTorchDividesByZeroOrLearnsNothing) {
  EXPECT_DOUBLE_EQ(learning_rate(cycle(0.1), 1e-4, {10, 0}, 0), 1e-3) << "a rise of one step";
  for (const double rise : {0.0, 0.3, 1.0})
    EXPECT_DOUBLE_EQ(learning_rate(cycle(rise), 1e-4, {1, 0}, 0), 1e-3) << "the only step has to learn";
}

TEST(OneCycle, StaysAtItsEndAndKnowsNoWarmUp) {
  EXPECT_DOUBLE_EQ(learning_rate(cycle(0.3), 1e-4, {20, 0}, 400), 1e-7);
  for (const int64_t step : {0, 3, 11})
    EXPECT_EQ(learning_rate(cycle(0.3), 1e-4, {20, 8}, step), learning_rate(cycle(0.3), 1e-4, {20, 0}, step));
}

TEST(LearningRate, RefusesANameThatItDoesNotKnow) {
  ScheduleConfig config;
  config.name = "staircase";
  EXPECT_THROW(learning_rate(config, 1.0, {10, 0}, 0), Error);
}

/// As torch.optim.lr_scheduler.MultiStepLR(milestones=[3, 5], gamma=0.1) has it, after a warm-up.
TEST(LearningRate, FallsAtItsMilestones) {
  ScheduleConfig config;
  config.name = "multistep";
  config.start = 0.5;
  const ScheduleSteps steps{.total = 8, .warmup = 1, .milestones = {3, 5}};
  std::vector<double> rates;
  for (int64_t step = 0; step < 8; ++step) rates.push_back(learning_rate(config, 1, steps, step));
  const std::vector<double> expected{0.5, 1, 1, 0.1, 0.1, 0.01, 0.01, 0.01};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(rates[i], expected[i], 1e-15) << "step " << i;
}

/// The rates of torch.optim.lr_scheduler.ReduceLROnPlateau(patience=1, factor=0.5, threshold=0, min_lr=0.2)
/// after each of these metrics.
TEST(LearningRate, FallsOnAPlateauAndNotBelowItsLeast) {
  ScheduleConfig config;
  config.name = "plateau";
  config.patience = 1;
  config.factor = 0.5;
  config.final_rate = 0.2;
  Plateau plateau;
  std::vector<double> rates;
  for (const bool gained : {true, false, true, false, false, false, false, false, false}) {
    note_validation(config, gained, plateau);
    rates.push_back(learning_rate(config, 1, {}, 5, plateau));
  }
  EXPECT_THAT(rates, ElementsAre(1, 1, 1, 1, 0.5, 0.5, 0.25, 0.25, 0.2));
}

constexpr int64_t some_step = 1000;  // beyond any warm-up here

double rate_at_share(const char* name, double share, int64_t step = some_step) {
  ScheduleConfig config;
  config.name = name;
  config.start = 0.1;
  config.final_rate = 0.01;
  return learning_rate(config, 1.0, {.total = 0, .warmup = 4}, step, {}, share);
}

TEST(LearningRate, FollowsTheShareOfARunWhoseLengthIsATime) {
  for (const char* name : {"warmup_cosine", "warmup_linear"}) {
    EXPECT_NEAR(rate_at_share(name, 0), 1, 1e-12) << name;
    EXPECT_NEAR(rate_at_share(name, 0.5), (1 + 0.01) / 2, 1e-12) << name;
    EXPECT_NEAR(rate_at_share(name, 1), 0.01, 1e-12) << name;
    EXPECT_NEAR(rate_at_share(name, 1.1), 0.01, 1e-12) << name << ": the last step began late";
  }
  EXPECT_NEAR(rate_at_share("warmup_linear", 0.25), 0.7525, 1e-12);
  // Rise 0.3 to 10 times the rate; the default peak.
  EXPECT_NEAR(rate_at_share("onecycle", 0), 0.1, 1e-12);
  EXPECT_NEAR(rate_at_share("onecycle", 0.15), (0.1 + 10) / 2, 1e-12);
  EXPECT_NEAR(rate_at_share("onecycle", 0.3), 10, 1e-12);
  EXPECT_NEAR(rate_at_share("onecycle", 1), 0.01, 1e-12);
  // Periods of a quarter and a half of the run.
  EXPECT_NEAR(rate_at_share("cosine_warm_restarts", 0.125), (1 + 0.01) / 2, 1e-12);
  EXPECT_NEAR(rate_at_share("cosine_warm_restarts", 0.25), 1, 1e-12);
  EXPECT_NEAR(rate_at_share("cosine_warm_restarts", 0.5), (1 + 0.01) / 2, 1e-12);
}

TEST(LearningRate, WarmsATimedRunUpByItsSteps) {
  EXPECT_DOUBLE_EQ(rate_at_share("warmup_cosine", 0.2, /*step=*/0), 0.1);
  EXPECT_DOUBLE_EQ(rate_at_share("warmup_linear", 0.2, /*step=*/2), 0.55);
  EXPECT_DOUBLE_EQ(rate_at_share("constant", 0.9, /*step=*/0), 1);
}

}  // namespace
}  // namespace larmor
