// Stopped anywhere and resumed equals never stopped, to the bit.
#include <gtest/gtest.h>

#include "larmor/base/text.h"
#include "larmor/device/initialisation.h"

#include "tests/contract/trial_run.h"

namespace larmor::testing {
namespace {

class Resume : public ::testing::TestWithParam<StageName> {};

// Fourteen steps with everything on: accumulation, an average, a warm-up, the adversarial phase of the
// autoencoder from step 10, validations and checkpoints in between.
constexpr int64_t last_step = 14;
const std::vector<std::string> all_steps{text("train.length=", last_step, "st"),
                                         "train.global_batch=4",
                                         "train.accumulation=2",
                                         "train.validate_every=5st",
                                         "checkpoint.every=4st",
                                         "optim.ema_decay=0.9",
                                         "optim.schedule.warmup=5st"};

/// The steps at which a run is stopped before it is resumed.
std::vector<int64_t> stops(int64_t every) {
  std::vector<int64_t> steps;
  for (int64_t step = 1; step < last_step; step += every) steps.push_back(step);
  return steps;
}

/// A run that is never stopped. What it gives is compared with what the same run gives in parts.
class WholeRun {
 public:
  WholeRun(StageName stage, int ranks) : stage_(std::move(stage)), ranks_(ranks), run_(stage_, all_steps) {
    run_.train(ranks_);
  }

  /// Stopped at each of `steps` in turn, the same run resumed every time.
  void expect_same_bits_in_parts(const std::vector<int64_t>& steps) {
    const auto expected = run_.logged_steps();
    ASSERT_EQ(expected.size(), static_cast<size_t>(last_step));
    TrialRun parts(stage_, all_steps);
    for (const int64_t stop : steps) {
      const auto end = parts.train(ranks_, stop);
      ASSERT_EQ(end.training.reason, TrainingEnd::Reason::step_limit);
      ASSERT_EQ(end.training.state.progress.step, stop);
      const auto logged = parts.logged_steps();
      ASSERT_EQ(logged.size(), static_cast<size_t>(stop));
      ASSERT_EQ(logged.back(), expected[logged.size() - 1]) << ranks_ << " ranks";
    }
    parts.train(ranks_);
    EXPECT_EQ(parts.logged_steps(), expected) << ranks_ << " ranks";
    EXPECT_EQ(parts.hashes(), run_.hashes()) << ranks_ << " ranks";
  }

 private:
  StageName stage_;
  int ranks_;
  TrialRun run_;
};

TEST_P(Resume, GivesTheSameBitsAfterAStopAtEveryStep) {
  WholeRun of_one_rank(GetParam(), 1);
  of_one_rank.expect_same_bits_in_parts(stops(1));
  of_one_rank.expect_same_bits_in_parts(stops(5));  // parts of several steps, with examples read ahead
  WholeRun(GetParam(), 2).expect_same_bits_in_parts(stops(6));
}

TEST_P(Resume, GivesTheSameBitsWithTwoThreadsARank) {
  const auto trained = [&](std::optional<int64_t> stop) {
    TrialRun run(GetParam(), with_others(all_steps, {"train.length=6st"}));
    run.compute_with(2);
    if (stop) run.train(1, stop);
    run.train(1);
    return run.hashes();
  };
  EXPECT_EQ(trained(3), trained({}));
}

TEST_P(Resume, GoesOnWithAnotherNumberOfRanks) {
  const std::vector<std::string> words{
      "train.length=8st",         "train.global_batch=4",         "optim.name=sgd",
      "optim.learning_rate=0.01", "optim.schedule.name=constant", "optim.schedule.warmup=0"};
  constexpr const char* file = "model.safetensors";
  const auto whole = rounded(words, [](const std::vector<std::string>& all) {
    TrialRun one(GetParam(), all);
    one.train(1);
    return one.tensors(file);
  });
  TrialRun run(GetParam(), words);
  run.train(1, 3);
  run.train(2, 6);
  run.train(4);
  expect_but_for_rounding(run.tensors(file), whole, "1, 2 and 4 ranks");
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
