// What becomes of a save is told while the next step is computed, under the moment of its snapshot, and a run
// that may not go on without it ends within a step, on all ranks at the same one.
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/text.h"

#include "tests/contract/forwarding_stage.h"
#include "tests/contract/trial_run.h"

namespace larmor::testing {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t global_batch = 4, every = 3;

/// LARMOR_FAIL_POINT while it lives.
class FailPoint {
 public:
  explicit FailPoint(const std::string& setting) { setenv(name, setting.c_str(), 1); }
  ~FailPoint() { unsetenv(name); }
  FailPoint(const FailPoint&) = delete;
  FailPoint& operator=(const FailPoint&) = delete;

 private:
  static constexpr const char* name = "LARMOR_FAIL_POINT";
};

std::vector<Json> events_in(const std::filesystem::path& file) {
  std::vector<Json> events;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (Json::accept(line)) events.push_back(parse_json(line, "an event"));
  }
  return events;
}

/// Of saves: how they ended.
bool tells_of_a_save(const Json& event) {
  return event.at("kind") == "checkpoint" ||
         (event.at("kind") == "warning" && event.at("text").get<std::string>().starts_with("the checkpoint"));
}

bool is_told(const std::filesystem::path& file, int64_t step) {
  for (const auto& event : events_in(file)) {
    if (tells_of_a_save(event) && event.at("step") == step) return true;
  }
  return false;
}

/// In the step after a save it computes nothing until that has been told of.
class WaitingTask final : public ForwardingTask {
 public:
  WaitingTask(std::unique_ptr<Task> inner, std::filesystem::path events)
      : ForwardingTask(std::move(inner)), events_(std::move(events)) {}
  std::vector<at::Tensor> losses(const Batch& batch, const StepContext& context) override {
    const auto saved = context.step;
    constexpr auto patience = std::chrono::seconds(60);
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (saved > 0 && saved % every == 0 && !is_told(events_, saved)) {
      if (std::chrono::steady_clock::now() > deadline)
        fail(Exit::unexpected, text("step ", saved, " was saved, and a step later nobody knows"));
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return ForwardingTask::losses(batch, context);
  }

 private:
  std::filesystem::path events_;
};

class WaitingStage final : public ForwardingStage {
 public:
  WaitingStage(std::unique_ptr<const Stage> inner, std::filesystem::path events)
      : ForwardingStage(std::move(inner)), events_(std::move(events)) {}
  std::unique_ptr<Task> task(const RunConfig& config, const Index& index) const override {
    return std::make_unique<WaitingTask>(ForwardingStage::task(config, index), events_);
  }

 private:
  std::filesystem::path events_;
};

struct SavingCase {
  std::string name, strategy;
  int ranks;
  bool beside;  // training goes on
};
void PrintTo(const SavingCase& one, std::ostream* out) { *out << one.name; }

class SaveOutcomes : public ::testing::TestWithParam<SavingCase> {
 protected:
  static std::vector<std::string> words() {
    return {"train.length=30st",
            text("checkpoint.every=", every, "st"),
            text("train.global_batch=", global_batch),
            "train.validate_every=0",
            "optim.schedule.warmup=0",
            "parallel.strategy=" + GetParam().strategy,
            text("checkpoint.async=", GetParam().beside ? "true" : "false")};
  }
  SaveOutcomes() {
    run_.change_stage([this](std::unique_ptr<const Stage> stage) {
      return std::make_unique<WaitingStage>(std::move(stage), run_.folder().events());
    });
  }

  /// The steps whose saves ended as `kind` says, each under its own moment.
  std::vector<int64_t> told(const std::string& kind) const {
    std::vector<int64_t> steps;
    std::map<int64_t, Json> moments;
    for (const auto& event : events_in(run_.folder().events())) {
      const auto step = event.at("step").get<int64_t>();
      if (event.at("kind") == "step") moments[step] = {event.at("epoch"), event.at("examples")};
      if (event.at("kind") != kind || !tells_of_a_save(event)) continue;
      EXPECT_EQ(Json({event.at("epoch"), event.at("examples")}), moments.at(step)) << "step " << step;
      EXPECT_EQ(event.at("examples"), step * global_batch);
      steps.push_back(step);
    }
    return steps;
  }

  TrialRun run_{StageName{"toy", "coder"}, words()};
};

TEST_P(SaveOutcomes, AreToldWithinAStep) {
  run_.train(GetParam().ranks, 8);
  EXPECT_THAT(told("checkpoint"), ElementsAre(3, 6, 8));
}

TEST_P(SaveOutcomes, OfASlowDiskAreToldWithinAStep) {
  const FailPoint slow("checkpoint.begun:1+:slow");
  run_.train(GetParam().ranks, 8);
  EXPECT_THAT(told("checkpoint"), ElementsAre(3, 6, 8));
}

TEST_P(SaveOutcomes, OfADiskThatIsFullForAWhileAreToldWithinAStep) {
  const FailPoint full("checkpoint.begun:1:full");
  run_.train(GetParam().ranks, 8);
  EXPECT_THAT(told("warning"), ElementsAre(3));
  EXPECT_THAT(told("checkpoint"), ElementsAre(6, 8));
}

TEST_P(SaveOutcomes, OfADiskThatStaysFullEndTheRunAtTheThirdOnAllRanks) {
  const FailPoint full("checkpoint.begun:1+:full");
  EXPECT_THROW(run_.train(GetParam().ranks), Error);
  EXPECT_THAT(told("warning"), ElementsAre(3, 6, 9));
  // Beside training it ends while step 10 is computed, whose gradients or the next step's say so to all
  // ranks.
  EXPECT_THAT(run_.logged_steps().size(), GetParam().beside ? AnyOf(10U, 11U) : AnyOf(9U, 9U));
  for (const auto& failure : run_.errors()) {
    try {
      std::rethrow_exception(failure);
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::environment);
      EXPECT_THAT(error.message(), HasSubstr("checkpoint of step 9 could not be saved, 3 failures in a row"));
    }
  }
}

TEST_P(SaveOutcomes, OfTheLastOneAreToldUnderItsMoment) {
  const FailPoint full("checkpoint.begun:3:full");
  EXPECT_THROW(run_.train(GetParam().ranks, 8), Error);
  EXPECT_THAT(told("checkpoint"), ElementsAre(3, 6));
  EXPECT_THAT(told("warning"), ElementsAre(8));
}

INSTANTIATE_TEST_SUITE_P(Of, SaveOutcomes,
                         ::testing::Values(SavingCase{"beside_one", "auto", 1, true},
                                           SavingCase{"at_once_one", "auto", 1, false},
                                           SavingCase{"beside_two", "ddp", 2, true},
                                           SavingCase{"at_once_two", "ddp", 2, false},
                                           SavingCase{"beside_two_sharded", "zero2", 2, true}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace larmor::testing
