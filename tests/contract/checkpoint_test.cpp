// What a rank makes of a checkpoint that it is told to go on from.
#include "larmor/checkpoint/checkpoint.h"

#include <fstream>

#include <gtest/gtest.h>

#include "larmor/base/error.h"

#include "tests/contract/trial_run.h"

namespace larmor::testing {
namespace {

const std::vector<std::string> few_steps{"train.length=6st", "train.global_batch=2",
                                         "train.validate_every=2st", "checkpoint.every=2st",
                                         "optim.schedule.warmup=2st"};

TEST(Checkpoint, ThatWasDamagedSinceTheStartIsRefusedByEveryRank) {
  TrialRun run("survival", few_steps);
  run.train(2, 4);
  // Between the parent's look and the ranks'.
  run.change_stage([&](std::unique_ptr<const Stage> stage) {
    const auto file = run.folder().checkpoints() / "step-00000004" / "model.safetensors";
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(-1, std::ios::end);
    const int last = bytes.get();
    bytes.seekp(-1, std::ios::end);
    bytes.put(static_cast<char>(last ^ 4));
    return stage;
  });
  EXPECT_THROW(run.train(2), Error);
  for (const auto& failure : run.errors()) {
    ASSERT_TRUE(failure) << "a rank went on with damaged weights";
    try {
      std::rethrow_exception(failure);
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::checkpoint) << error.message();
      EXPECT_NE(error.message().find("model.safetensors does not match its SHA-256"), std::string::npos)
          << error.message();
    }
  }
}

TEST(Checkpoint, OfAnotherConfigurationBringsNoBestValueAndNoPatience) {
  TrialRun other("survival", few_steps), same("survival", few_steps), different("survival", few_steps);
  const auto end = other.train(1, 4);
  ASSERT_TRUE(end.training.state.best_metric.has_value());
  const auto checkpoint = other.folder().checkpoints() / "step-00000004";
  same.resume_at(checkpoint);
  const auto kept = same.train(1, 5);
  EXPECT_EQ(kept.training.state.best_metric, end.training.state.best_metric);
  EXPECT_EQ(kept.training.state.best_step, end.training.state.best_step);
  different.resume_at(checkpoint);
  const auto fresh = different.train(1, 5, {"optim.learning_rate=0.0004"});
  EXPECT_EQ(fresh.training.state.best_metric, std::nullopt);
  EXPECT_EQ(fresh.training.state.best_step, 0);
  EXPECT_EQ(fresh.training.state.validations_without_gain, 0);
  ASSERT_FALSE(different.notes().empty());
  EXPECT_NE(different.notes().back().find("another configuration (optim.learning_rate)"), std::string::npos)
      << different.notes().back();
}

}  // namespace
}  // namespace larmor::testing
