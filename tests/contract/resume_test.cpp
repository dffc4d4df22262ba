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

/// The steps at which a run of twenty is stopped before it is resumed.
std::vector<int64_t> stops(int64_t every) {
  std::vector<int64_t> steps;
  for (int64_t step = 1; step < 20; step += every) steps.push_back(step);
  return steps;
}

/// Stopped at each of `steps` in turn, the same run resumed every time.
void expect_same_bits(const StageName& stage, int ranks, const std::vector<int64_t>& steps) {
  TrialRun whole(stage, twenty_steps), parts(stage, twenty_steps);
  whole.train(ranks);
  const auto expected = whole.logged_steps();
  ASSERT_EQ(expected.size(), 20U);
  for (const int64_t stop : steps) {
    const auto end = parts.train(ranks, stop);
    ASSERT_EQ(end.training.reason, TrainingEnd::Reason::step_limit);
    ASSERT_EQ(end.training.state.progress.step, stop);
    const auto logged = parts.logged_steps();
    ASSERT_EQ(logged.size(), static_cast<size_t>(stop));
    ASSERT_EQ(logged.back(), expected[logged.size() - 1]) << ranks << " ranks";
  }
  parts.train(ranks);
  EXPECT_EQ(parts.logged_steps(), expected) << ranks << " ranks";
  EXPECT_EQ(parts.hashes(), whole.hashes()) << ranks << " ranks";
}

TEST_P(Resume, GivesTheSameBitsAfterAStopAtEveryStep) {
  expect_same_bits(GetParam(), 1, stops(1));
  expect_same_bits(GetParam(), 1, stops(5));  // a part of several steps, with examples read ahead
  expect_same_bits(GetParam(), 2, stops(6));
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
  TrialRun run(GetParam(), {"train.length=120st", "train.validate_every=120st"});
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
