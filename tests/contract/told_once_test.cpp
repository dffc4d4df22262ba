// What a run tells of its figures it tells once, also where it is stopped and goes on.
#include <cmath>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/files/file.h"

#include "tests/contract/forwarding_stage.h"
#include "tests/contract/trial_run.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Worse than its baseline at every validation, with a figure that is no number, and a complaint of every
/// step.
class GrumblingTask final : public ForwardingTask {
 public:
  using ForwardingTask::ForwardingTask;
  DeclaredFigures figures() const override {
    return {{.name = "right", .better = Better::higher, .baselines = {{.name = "by_chance"}}}};
  }
  std::optional<Complaint> complaint(const std::map<std::string, double>& recorded) const override {
    return Complaint{.key = "loss", .words = text("the loss is ", fixed(recorded.at("loss"), 1))};
  }
  void validate(const Batch& batch, Metrics& metrics) override {
    for (const auto& key : batch.keys) {
      metrics.value("loss", key.example, 1);
      metrics.value("right", key.example, 0.2);
      metrics.value("by_chance", key.example, 0.5);
      metrics.value("undefined", key.example, std::nan(""));
    }
  }
};

class GrumblingStage final : public ForwardingStage {
 public:
  using ForwardingStage::ForwardingStage;
  std::unique_ptr<Task> task(const RunConfig& config, const Index& index) const override {
    return std::make_unique<GrumblingTask>(ForwardingStage::task(config, index));
  }
  std::vector<std::string> remarks(const RunConfig&) const override { return {"there is something to know"}; }
};

class GrumblingRun : public TrialRun {
 public:
  GrumblingRun()
      : TrialRun("latent_diffusion", {"train.length=8st", "train.validate_every=1st", "train.global_batch=2",
                                      "loss.adversarial_weight=0", "optim.schedule.warmup=0"}) {
    change_stage([](std::unique_ptr<const Stage> stage) {
      return std::make_unique<GrumblingStage>(std::move(stage));
    });
  }

  /// Warnings and notes with their steps, but for those of a machine that others keep busy.
  std::vector<std::string> told() const {
    std::vector<std::string> all;
    std::istringstream lines(read_text(folder().events()));
    for (std::string line; std::getline(lines, line);) {
      const auto event = parse_json(line, "an event");
      if (event.at("kind") != "warning" && event.at("kind") != "note") continue;
      const auto words = event.at("text").get<std::string>();
      if (words.find("cores") == std::string::npos && words.find("waiting for data") == std::string::npos)
        all.push_back(text(event.at("step").get<int64_t>(), ": ", words));
    }
    return all;
  }
};

const auto all_that_is_told =
    ElementsAre("0: there is something to know", HasSubstr("1: the loss is "),
                HasSubstr("1: val/undefined is no number: it is no number for "),
                AllOf(HasSubstr("4: half of the run is over"),
                      HasSubstr("right 0.200 is below its baseline by_chance 0.500")));

TEST(ToldOnce, IsWhatARunFindsInItsFigures) {
  GrumblingRun run;
  run.train(2);
  EXPECT_THAT(run.told(), all_that_is_told);
}

TEST(ToldOnce, IsKeptOverAStop) {
  GrumblingRun whole, parts;
  whole.train(1);
  for (const int64_t stop : {2, 5}) parts.train(1, stop);
  parts.train(1);
  EXPECT_THAT(parts.told(), all_that_is_told);
  EXPECT_EQ(parts.hashes(), whole.hashes());
}

}  // namespace
}  // namespace larmor::testing
