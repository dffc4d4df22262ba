// Stopped anywhere and resumed equals never stopped, to the bit.
#include <gtest/gtest.h>

#include "larmor/device/initialisation.h"

#include "tests/contract/trial_run.h"

namespace larmor::testing {
namespace {

class Resume : public ::testing::TestWithParam<StageName> {};

// Twenty steps with everything on: accumulation, an average, a warm-up, the adversarial phase from the
// middle, validations and checkpoints in between.
const std::vector<std::string> twenty_steps{
    "train.length=20st",    "train.global_batch=4", "train.accumulation=2",     "train.validate_every=7st",
    "checkpoint.every=6st", "optim.ema_decay=0.9",  "optim.schedule.warmup=5st"};

TEST_P(Resume, GivesTheSameBitsAfterAStopAtAnyStep) {
  for (const int ranks : {1, 2}) {
    TrialRun whole(GetParam(), twenty_steps);
    whole.train(ranks);
    const auto expected = whole.hashes();
    const auto expected_log = whole.logged_steps();
    ASSERT_EQ(expected_log.size(), 20U);
    for (int64_t stop = 1; stop < 20; stop += ranks == 1 ? 1 : 6) {
      TrialRun parts(GetParam(), twenty_steps);
      const auto end = parts.train(ranks, stop);
      ASSERT_EQ(end.training.reason, TrainingEnd::Reason::step_limit);
      ASSERT_EQ(end.training.state.progress.step, stop);
      parts.train(ranks);
      EXPECT_EQ(parts.hashes(), expected) << "stopped at step " << stop << ", " << ranks << " ranks";
      EXPECT_EQ(parts.logged_steps(), expected_log)
          << "stopped at step " << stop << ", " << ranks << " ranks";
    }
  }
}

TEST_P(Resume, GoesOnWithAnotherNumberOfRanks) {
  TrialRun run(GetParam(),
               {"train.length=8st", "train.global_batch=4", "optim.name=sgd", "optim.learning_rate=0.01",
                "optim.schedule.name=constant", "optim.schedule.warmup=0"});
  TrialRun whole(GetParam(),
                 {"train.length=8st", "train.global_batch=4", "optim.name=sgd", "optim.learning_rate=0.01",
                  "optim.schedule.name=constant", "optim.schedule.warmup=0"});
  whole.train(1);
  run.train(1, 3);
  run.train(2, 6);
  run.train(4);
  EXPECT_LE(largest_difference(run.tensors("model.safetensors"), whole.tensors("model.safetensors")), 1e-6);
}

TEST_P(Resume, LearnsAndLeavesLibtorchsOwnGeneratorAlone) {
  const auto before = default_generator_fingerprint();
  TrialRun run(GetParam(), {"train.validate_every=120st"});
  run.train(1);
  EXPECT_EQ(default_generator_fingerprint(), before);
  const auto lines = run.logged_steps();
  const auto loss_of = [](const std::string& line) {
    return parse_json(line.substr(line.find('{')), "a logged step").at("train/loss").get<double>();
  };
  double first = 0, last = 0;
  for (size_t i = 0; i < 20; ++i) first += loss_of(lines[i]);
  for (size_t i = lines.size() - 20; i < lines.size(); ++i) last += loss_of(lines[i]);
  EXPECT_LT(last, 0.8 * first);
}

INSTANTIATE_TEST_SUITE_P(Table, Resume, ::testing::ValuesIn(stage_names()), name_of);

}  // namespace
}  // namespace larmor::testing
