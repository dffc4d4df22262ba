#include "larmor/config/foreign/deepspeed_schedule.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/config/support/deepspeed_file.h"

namespace larmor {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(DeepSpeedSchedule, IsOneOfOursWhereThereIsOne) {
  const LoadedConfig rising = load_json(R"({"optimizer": {"type": "AdamW", "params": {"lr": 5e-4}},
    "scheduler": {"type": "WarmupLR",
                  "params": {"warmup_min_lr": 1e-5, "warmup_max_lr": 1e-4, "warmup_num_steps": 50}}})");
  const ScheduleConfig& schedule = rising.config.optim.schedule;
  EXPECT_EQ(schedule.name, "warmup_cosine");
  EXPECT_EQ(schedule.warmup, (Length{50, Length::Unit::steps}));
  EXPECT_DOUBLE_EQ(schedule.start, 0.1);
  EXPECT_EQ(schedule.final_rate, 1e-4) << "where it stays";
  EXPECT_EQ(rising.config.optim.learning_rate, 1e-4);
  EXPECT_THAT(rising.notes,
              Contains(EndsWith("optimizer.params.lr: scheduler.params.warmup_max_lr decides")));

  const LoadedConfig linear = load_json(R"({"scheduler": {"type": "WarmupDecayLR",
    "params": {"total_num_steps": 90, "warmup_min_lr": 1e-6, "warmup_max_lr": 1e-4, "warmup_num_steps": 9}}})");
  const ScheduleConfig& falling = linear.config.optim.schedule;
  EXPECT_EQ(falling.name, "warmup_linear");
  EXPECT_EQ(falling.warmup, (Length{9, Length::Unit::steps}));
  EXPECT_EQ(falling.steps, 90);
  EXPECT_DOUBLE_EQ(falling.start, 0.01);
  EXPECT_EQ(falling.final_rate, 1e-6);
  EXPECT_EQ(linear.config.optim.learning_rate, 1e-4);
  const LoadedConfig to_zero =
      load_json(R"({"scheduler": {"type": "WarmupDecayLR", "params": {"total_num_steps": 90}}})");
  EXPECT_EQ(to_zero.config.optim.schedule.final_rate, 0);

  const LoadedConfig test =
      load_json(R"({"scheduler": {"type": "LRRangeTest", "params": {"lr_range_test_min_lr": 1e-5}}})");
  EXPECT_EQ(test.config.optim.schedule.name, "constant");
  EXPECT_THAT(test.notes,
              ElementsAre(HasSubstr("scheduler.type LRRangeTest is not supported: optim.schedule stays as it "
                                    "is"),
                          EndsWith("scheduler.params.lr_range_test_min_lr has no meaning here: "
                                   "optim.schedule stays as it is")));
  EXPECT_THAT(notes_of(R"({"scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": 9}}})"),
              Contains(HasSubstr("because the file gives no rate to rise to")));
  EXPECT_THAT(
      refusal_of_json(R"({"scheduler": {"type": "WarmupCosineLR", "params": {"warmup_num_steps": "many"}}})"),
      HasSubstr("scheduler.params.warmup_num_steps has to be a number of at least 0; got \"many\""));
}

TEST(DeepSpeedSchedule, TakesTheRateOfOneCycle) {
  const LoadedConfig cycle = load_json(R"({"optimizer": {"type": "Adam", "params": {"lr": 0.5}},
 "scheduler": {"type": "OneCycle", "params": {
  "cycle_min_lr": 1e-4,
  "cycle_max_lr": 1e-3,
  "cycle_first_step_size": 200,
  "cycle_second_step_size": 300,
  "cycle_momentum": false}}})");
  const ScheduleConfig& schedule = cycle.config.optim.schedule;
  EXPECT_EQ(schedule.name, "warmup_linear");
  EXPECT_EQ(cycle.config.optim.learning_rate, 1e-3);
  EXPECT_DOUBLE_EQ(schedule.start, 0.1);
  EXPECT_EQ(schedule.final_rate, 1e-4);
  EXPECT_EQ(schedule.warmup, (Length{200, Length::Unit::steps}));
  EXPECT_EQ(schedule.steps, 500);
  EXPECT_EQ(origin_of(cycle, "optim.schedule.warmup").origin, "ds.json:5");
  EXPECT_EQ(origin_of(cycle, "optim.schedule.steps").origin, "ds.json:6");
  EXPECT_THAT(
      cycle.notes,
      ElementsAre(EndsWith("optimizer.type Adam: optim.name=adamw"),
                  EndsWith("optimizer.params.lr: scheduler.params.cycle_max_lr decides"),
                  EndsWith("scheduler.type OneCycle: optim.schedule.name=warmup_linear"),
                  EndsWith("scheduler.params.cycle_min_lr 1e-4: optim.schedule.final_rate=1e-4, and where "
                           "optim.schedule starts"),
                  EndsWith("scheduler.params.cycle_max_lr: optim.learning_rate=1e-3"),
                  EndsWith("scheduler.params.cycle_first_step_size 200: optim.schedule.warmup=200st"),
                  EndsWith("scheduler.params.cycle_second_step_size 300: optim.schedule.steps=500"),
                  EndsWith("scheduler.params.cycle_momentum false: optim.betas stay as they are")));
}

/// Of a cycle from 1e-4 to 1e-3, with more parameters.
std::vector<std::string> notes_of_cycle(const std::string& more) {
  return notes_of(
      R"({"scheduler": {"type": "OneCycle", "params": {"cycle_min_lr": 1e-4, "cycle_max_lr": 1e-3)" + more +
      "}}}");
}

TEST(DeepSpeedSchedule, FillsInWhatOneCycleLeavesOutAsDeepSpeedDoes) {
  const auto schedule = [](const char* more) {
    return load_json(text(R"({"scheduler": {"type": "OneCycle", "params": {"cycle_min_lr": 0,)",
                          R"("cycle_max_lr": 1e-3)", more, "}}}"))
        .config.optim.schedule;
  };
  EXPECT_EQ(schedule("").warmup, (Length{2000, Length::Unit::steps}));
  EXPECT_EQ(schedule("").steps, 4000);
  EXPECT_EQ(schedule(R"(, "cycle_first_step_size": 50)").warmup, (Length{50, Length::Unit::steps}));
  EXPECT_EQ(schedule(R"(, "cycle_first_step_size": 50)").steps, 100) << "as long down as up";
  EXPECT_EQ(schedule(R"(, "cycle_second_step_size": 50)").steps, 2050);
  EXPECT_THAT(notes_of_cycle(R"(, "cycle_first_step_size": 50)"),
              Contains(EndsWith("cycle_first_step_size 50: optim.schedule.warmup=50st, "
                                "optim.schedule.steps=100")));
}

TEST(DeepSpeedSchedule, NamesWhatItDoesNotTakeOfOneCycle) {
  EXPECT_THAT(notes_of_cycle(""),
              Contains(EndsWith("scheduler.params.cycle_momentum, which DeepSpeed takes to be true, is not "
                                "supported: optim.betas stay as they are")));
  EXPECT_THAT(notes_of_cycle(R"(, "cycle_momentum": true, "cycle_min_mom": 0.85)"),
              AllOf(Contains(EndsWith("scheduler.params.cycle_momentum is not supported: optim.betas stay as "
                                      "they are")),
                    Contains(EndsWith("scheduler.params.cycle_min_mom is not supported: optim.betas stay as "
                                      "they are"))));
  EXPECT_THAT(notes_of_cycle(R"(, "decay_lr_rate": 0.001, "decay_step_size": 10)"),
              AllOf(Contains(EndsWith("scheduler.params.decay_lr_rate is not supported: after the cycle the "
                                      "rate stays at cycle_min_lr")),
                    Contains(EndsWith("scheduler.params.decay_step_size is not supported: after the cycle "
                                      "the rate stays at cycle_min_lr"))));
  EXPECT_THAT(
      notes_of_cycle(R"(, "decay_lr_rate": 0.001)"),
      Contains(EndsWith("scheduler.params.decay_lr_rate has no meaning here: after the cycle the rate "
                        "stays at cycle_min_lr")));
  EXPECT_THAT(notes_of_cycle(R"(, "cycle_first_stair_count": 4)"),
              Contains(EndsWith("cycle_first_stair_count is not supported: the rate moves at each step")));
  EXPECT_THAT(notes_of_cycle(R"(, "total_num_steps": 4)"),
              Contains(EndsWith("total_num_steps has no meaning here: it goes with another type than this "
                                "one")));
  EXPECT_THAT(refusal_of_json(R"({"scheduler": {"type": "OneCycle", "params":
    {"cycle_min_lr": 1e-4, "cycle_max_lr": 1e-3, "cycle_first_step_size": 0.5}}})"),
              HasSubstr("scheduler.params.cycle_first_step_size has to be a whole number of at least 1; got "
                        "0.5"));
}

TEST(DeepSpeedSchedule, LeavesOursWhereOneCycleHasNoRatesToRiseBetween) {
  for (const char* const parameters :
       {R"("cycle_first_step_size": 9)", R"("cycle_min_lr": 1e-3, "cycle_max_lr": 1e-4)",
        R"("cycle_min_lr": 0, "cycle_max_lr": 0)", R"("cycle_min_lr": "auto", "cycle_max_lr": 1e-4)"}) {
    const LoadedConfig cycle =
        load_json(text(R"({"scheduler": {"type": "OneCycle", "params": {)", parameters, "}}}"));
    EXPECT_EQ(cycle.config.optim.schedule.name, "constant");
    EXPECT_THAT(cycle.notes, Contains(EndsWith("scheduler.type OneCycle: optim.schedule stays as it is, "
                                               "because the file gives no cycle_min_lr with a cycle_max_lr "
                                               "above it")));
  }
}

}  // namespace
}  // namespace larmor
