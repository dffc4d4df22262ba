// What ends a run is asked before a step is begun and within a validation, and what a stop has cut is done
// first by the next start: the run is then the same as one that was never stopped, to the bit.
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"
#include "larmor/checkpoint/checkpoint.h"

#include "tests/contract/forwarding_stage.h"
#include "tests/contract/trial_run.h"

namespace larmor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Reason = TrainingEnd::Reason;

/// Where a run is asked to stop: at the nth case of the validation after a step, on each rank or on one.
class Asking {
 public:
  Asking(int64_t step, int64_t nth, bool everywhere = true)
      : step_(step), nth_(nth), everywhere_(everywhere) {}
  void validate(int64_t step) {
    if (step == step_ && ++seen_ >= nth_) is_asked_ = true;
  }
  StopAsked asked() {
    return [this] { return is_asked_ && (everywhere_ || hears_) ? "stopped by a test" : std::string(); };
  }
  /// On the thread of the one rank that hears of it.
  void listen() { hears_ = true; }
  void go_on() { is_asked_ = false; }

 private:
  int64_t step_, nth_;
  bool everywhere_;
  std::atomic<int64_t> seen_ = 0;
  std::atomic<bool> is_asked_ = false;
  static thread_local bool hears_;
};
thread_local bool Asking::hears_ = false;

class AskingTask final : public ForwardingTask {
 public:
  AskingTask(std::unique_ptr<Task> inner, Asking& asking)
      : ForwardingTask(std::move(inner)), asking_(asking) {}
  std::vector<at::Tensor> losses(const Batch& batch, const StepContext& context) override {
    step_ = context.step + 1;
    return ForwardingTask::losses(batch, context);
  }
  void validate(const Batch& batch, Metrics& metrics) override {
    if (batch.keys.front().example == 0) asking_.listen();
    asking_.validate(step_);
    ForwardingTask::validate(batch, metrics);
  }

 private:
  Asking& asking_;
  int64_t step_ = 0;
};

class AskingStage final : public ForwardingStage {
 public:
  AskingStage(std::unique_ptr<const Stage> inner, Asking& asking)
      : ForwardingStage(std::move(inner)), asking_(asking) {}
  std::unique_ptr<Task> task(const RunConfig& config, const Index& index) const override {
    return std::make_unique<AskingTask>(ForwardingStage::task(config, index), asking_);
  }

 private:
  Asking& asking_;
};

/// Nine steps, validations after 3, 6 and 9, at which the rate may fall; every one of them may be the best.
std::vector<std::string> words(const std::string& strategy) {
  return {"train.length=9st",
          "train.validate_every=3st",
          "train.global_batch=4",
          "checkpoint.every=2st",
          "checkpoint.keep_best=2",
          "checkpoint.keep_last=1",
          "track.pictures_every=6st",
          "optim.ema_decay=0.9",
          "optim.schedule.name=plateau",
          "optim.schedule.patience=0",
          "optim.schedule.warmup=0",
          "optim.learning_rate=0.02",
          "parallel.strategy=" + strategy};
}

struct CutCase {
  std::string name, strategy;
  int ranks;
};
void PrintTo(const CutCase& one, std::ostream* out) { *out << one.name; }

/// What a validation gave, by its step, as the last start that did it has recorded it.
std::map<int64_t, std::string> figures(const TrialRun& run) {
  std::map<int64_t, std::string> figures;
  for (const auto& line : split(read_text(run.folder().events()), '\n')) {
    if (!Json::accept(line)) continue;
    const auto event = parse_json(line, "an event");
    if (event.at("kind") == "validation")
      figures[event.at("step").get<int64_t>()] = event.at("values").dump();
  }
  return figures;
}

std::vector<std::pair<int64_t, double>> rated(const TrialRun& run) {
  std::vector<std::pair<int64_t, double>> all;
  for (const auto& entry : list_checkpoints(run.folder().checkpoints(), /*verify=*/true)) {
    EXPECT_TRUE(entry.ok) << entry.reason;
    all.emplace_back(entry.step, entry.metric.value_or(-1));
  }
  return all;
}

class CutValidation : public ::testing::TestWithParam<CutCase> {
 protected:
  const CutCase& of() const { return GetParam(); }
  const TrialRun& whole() {
    if (!whole_) {
      whole_ = std::make_unique<TrialRun>(StageName{"toy", "coder"}, words(of().strategy));
      whole_->train(of().ranks);
    }
    return *whole_;
  }
  void expect_it_goes_on_as_if_never_cut(int64_t step, int64_t nth, bool everywhere) {
    SCOPED_TRACE(text("asked at case ", nth, " after step ", step));
    Asking asking(step, nth, everywhere);
    TrialRun run(StageName{"toy", "coder"}, words(of().strategy));
    run.change_stage([&](std::unique_ptr<const Stage> stage) {
      return std::make_unique<AskingStage>(std::move(stage), asking);
    });
    run.stop_when(asking.asked());
    const auto end = run.train(of().ranks);
    EXPECT_EQ(end.training.reason, Reason::signal);
    EXPECT_EQ(end.training.state.progress.step, step);
    EXPECT_FALSE(figures(run).contains(step)) << "it was not cut";
    const auto saved = newest_good(run.folder().checkpoints(), nullptr).value();
    EXPECT_EQ(saved.step, step);
    EXPECT_FALSE(saved.metric.has_value());
    asking.go_on();
    const auto resumed = run.train(of().ranks);
    EXPECT_EQ(resumed.training.reason, Reason::length_reached);
    EXPECT_EQ(run.logged_steps(), whole().logged_steps());
    EXPECT_EQ(figures(run), figures(whole()));
    EXPECT_EQ(run.hashes(), whole().hashes());
    EXPECT_EQ(rated(run), rated(whole()));
  }

 private:
  std::unique_ptr<TrialRun> whole_;
};

TEST_P(CutValidation, IsDoneFirstByTheNextStartWithTheSameBits) {
  expect_it_goes_on_as_if_never_cut(3, 2, true);
  expect_it_goes_on_as_if_never_cut(6, 1, true);
  expect_it_goes_on_as_if_never_cut(9, 3, true);
}

TEST_P(CutValidation, IsCutOnAllRanksWhereOneIsAsked) { expect_it_goes_on_as_if_never_cut(6, 1, false); }

INSTANTIATE_TEST_SUITE_P(Of, CutValidation,
                         ::testing::Values(CutCase{"one", "auto", 1}, CutCase{"two", "ddp", 2},
                                           CutCase{"two_cut_in_shards", "zero3", 2}),
                         [](const auto& one) { return one.param.name; });

TEST(StepLimit, ThatARunHasPassedTrainsNoStep) {
  for (const int64_t limit : {3, 6}) {
    TrialRun run(StageName{"toy", "coder"}, words("auto"));
    run.train(1, 6);
    const auto hashes = run.hashes();
    for (int times = 0; times < 2; ++times) {
      const auto end = run.train(1, limit);
      EXPECT_EQ(end.training.reason, Reason::step_limit);
      EXPECT_EQ(end.training.state.progress.step, 6);
    }
    EXPECT_EQ(run.logged_steps().size(), 6U);
    EXPECT_EQ(run.hashes(), hashes);
  }
}

TEST(Stop, ThatIsAskedForBeforeTheFirstStepTrainsNoneAndIsSaved) {
  TrialRun run(StageName{"toy", "refiner"}, {"train.length=4st", "optim.schedule.warmup=0"});
  run.stop_when([] { return "stopped by a test"; });
  const auto end = run.train(2);
  EXPECT_EQ(end.training.reason, Reason::signal);
  EXPECT_EQ(end.training.state.progress.step, 0);
  EXPECT_THAT(run.logged_steps(), IsEmpty());
  EXPECT_EQ(newest_good(run.folder().checkpoints(), nullptr).value().step, 0);
  EXPECT_EQ(run.train(2).training.reason, Reason::length_reached);
  TrialRun whole(StageName{"toy", "refiner"}, {"train.length=4st", "optim.schedule.warmup=0"});
  whole.train(2);
  EXPECT_EQ(run.logged_steps(), whole.logged_steps());
  EXPECT_EQ(run.hashes(), whole.hashes());
}

TEST(Stop, ThatIsAskedForAfterTheLastStepDoesNotEndTheRunBeforeItsValidation) {
  Asking asking(9, 1);
  TrialRun run(StageName{"toy", "coder"}, words("auto"));
  run.change_stage([&](std::unique_ptr<const Stage> stage) {
    return std::make_unique<AskingStage>(std::move(stage), asking);
  });
  run.stop_when(asking.asked());
  EXPECT_EQ(run.train(1).training.reason, Reason::signal);
  EXPECT_THAT(read_text(run.folder().events()), Not(HasSubstr("length reached")));
}

}  // namespace
}  // namespace larmor::testing
