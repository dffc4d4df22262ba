// A run that gains nothing for so many validations ends before its length, and says so; one that gains now
// and then goes on.
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/checkpoint/checkpoint.h"

#include "tests/contract/forwarding_stage.h"
#include "tests/contract/trial_run.h"

namespace larmor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using Reason = TrainingEnd::Reason;

/// Validates to what is written for each step.
class ScriptedTask final : public ForwardingTask {
 public:
  ScriptedTask(std::unique_ptr<Task> inner, std::vector<double> script)
      : ForwardingTask(std::move(inner)), script_(std::move(script)) {}
  std::vector<at::Tensor> losses(const Batch& batch, const StepContext& context) override {
    step_ = context.step;
    return ForwardingTask::losses(batch, context);
  }
  void validate(const Batch& batch, Metrics& metrics) override {
    for (const auto& key : batch.keys)
      metrics.value("script", key.example, script_.at(static_cast<size_t>(step_)));
  }

 private:
  std::vector<double> script_;
  int64_t step_ = 0;
};

class ScriptedStage final : public ForwardingStage {
 public:
  ScriptedStage(std::unique_ptr<const Stage> inner, std::vector<double> script)
      : ForwardingStage(std::move(inner)), script_(std::move(script)) {}
  std::unique_ptr<Task> task(const RunConfig& config, const Index& index) const override {
    return std::make_unique<ScriptedTask>(ForwardingStage::task(config, index), script_);
  }

 private:
  std::vector<double> script_;
};

/// Ten steps, a validation after each.
const std::vector<double> script{5, 4, 4.5, 3, 3.5, NAN, 3.2, 2, 1, 0};

std::vector<std::string> scripted_words(const std::vector<std::string>& more) {
  std::vector<std::string> words{
      "train.length=10st",         "train.validate_every=1st",     "train.global_batch=2",
      "loss.adversarial_weight=0", "checkpoint.metric=val/script", "optim.schedule.warmup=0"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

class ScriptedRun : public TrialRun {
 public:
  explicit ScriptedRun(const std::string& patience, const std::string& mode = "min")
      : ScriptedRun(std::vector<std::string>{"checkpoint.mode=" + mode, "train.early_stopping=" + patience}) {
  }
  explicit ScriptedRun(const std::vector<std::string>& more)
      : TrialRun("latent_diffusion", scripted_words(more)) {
    change_stage([](std::unique_ptr<const Stage> stage) {
      return std::make_unique<ScriptedStage>(std::move(stage), script);
    });
  }
};

TEST(Plateau, LetsTheRateFallAfterMoreValidationsWithoutGainThanAreBorne) {
  const std::vector<std::string> plateau{"optim.schedule.name=plateau", "optim.schedule.patience=1",
                                         "optim.schedule.factor=0.5", "optim.learning_rate=0.008"};
  ScriptedRun run(plateau);
  run.train(2);
  std::vector<double> rates;
  for (const auto& line : run.logged_steps())
    rates.push_back(
        parse_json(line.substr(line.find('{')), "a step").at("optim/learning_rate").get<double>());
  // 3.5 and nothing that is a number come in a row, after step 6.
  EXPECT_THAT(rates, ElementsAre(0.008, 0.008, 0.008, 0.008, 0.008, 0.008, 0.004, 0.004, 0.004, 0.004));
  for (const int64_t stop : {5, 6, 7}) {
    ScriptedRun parts(plateau);
    parts.train(2, stop);
    parts.train(2);
    EXPECT_EQ(parts.hashes(), run.hashes()) << "stopped at step " << stop;
    EXPECT_EQ(parts.logged_steps(), run.logged_steps()) << "stopped at step " << stop;
  }
}

TEST(EarlyStopping, EndsTheRunAfterSoManyValidationsWithoutGain) {
  ScriptedRun run("2");
  const auto end = run.train(2);
  EXPECT_EQ(end.training.reason, Reason::stopped_early);
  EXPECT_EQ(end.training.state.progress.step, 6) << "3 at step 4, then 3.5, then nothing that is a number";
  EXPECT_EQ(end.training.state.best_step, 4);
  EXPECT_EQ(end.training.state.best_metric, 3);
  EXPECT_THAT(read_text(run.folder().events()), HasSubstr("stopped early"));
  EXPECT_EQ(newest_good(run.folder().checkpoints(), nullptr).value().step, 6) << "its last step is saved";
}

TEST(EarlyStopping, CountsAnewAfterEachGain) {
  const auto end = ScriptedRun("4").train(1);
  EXPECT_EQ(end.training.reason, Reason::length_reached);
  EXPECT_EQ(end.training.state.progress.step, 10);
}

TEST(EarlyStopping, KnowsWhetherMoreIsBetter) {
  const auto end = ScriptedRun("2", "max").train(1);
  EXPECT_EQ(end.training.reason, Reason::stopped_early);
  EXPECT_EQ(end.training.state.progress.step, 3) << "5, and then two that are less";
}

TEST(EarlyStopping, GoesOnCountingInAResumedRun) {
  ScriptedRun run("2");
  EXPECT_EQ(run.train(1, 5).training.reason, Reason::step_limit);
  const auto end = run.train(1);
  EXPECT_EQ(end.training.reason, Reason::stopped_early);
  EXPECT_EQ(end.training.state.progress.step, 6);
}

TEST(EarlyStopping, IsOffUnlessAskedFor) {
  ScriptedRun run("0", "max");
  const auto end = run.train(1);
  EXPECT_EQ(end.training.reason, Reason::length_reached);
  EXPECT_EQ(end.training.state.validations_without_gain, 9);
  EXPECT_THAT(read_text(run.folder().events()), Not(HasSubstr("stopped early")));
}

}  // namespace
}  // namespace larmor::testing
