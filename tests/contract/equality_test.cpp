// One rank equals two and four, accumulation changes nothing: with every objective active.
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/contract/trial_run.h"

namespace larmor::testing {
namespace {

class HoweverDivided : public ::testing::TestWithParam<StageName> {};

std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

const std::vector<std::string> ten_steps{"train.length=10st", "train.validate_every=0",
                                         "train.global_batch=12", "optim.clip_norm=0"};
const std::vector<std::string> sgd{"optim.name=sgd", "optim.learning_rate=0.01",
                                   "optim.schedule.name=constant", "optim.schedule.warmup=0",
                                   "optim.weight_decay=0"};
// Cox's loss does not change when all risks are shifted, so the gradients of the last biases are rounding
// alone, which Adam divides by their own size unless eps is larger.
const std::vector<std::string> adam_fp64{
    "optim.name=adam",         "optim.learning_rate=0.001", "optim.schedule.name=constant",
    "optim.schedule.warmup=0", "train.precision=fp64",      "optim.weight_decay=0",
    "optim.eps=1e-4"};

/// By file: one an objective.
using Weights = std::map<std::string, NamedTensors>;

Weights weights_after(const StageName& stage, const std::vector<std::string>& words, int ranks,
                      int accumulation) {
  TrialRun run(stage, with(words, {text("train.accumulation=", accumulation)}));
  run.train(ranks);
  Weights weights;
  for (const auto& file : run.weight_files()) weights[file] = run.tensors(file);
  return weights;
}

void expect_neutral(const StageName& stage, const std::vector<std::string>& words, double tolerance) {
  const auto reference = weights_after(stage, words, 1, 1);
  for (const int ranks : {1, 2, 4}) {
    for (const int accumulation : {1, 3}) {
      if (ranks == 1 && accumulation == 1) continue;
      const auto other = weights_after(stage, words, ranks, accumulation);
      ASSERT_EQ(other.size(), reference.size());
      for (const auto& [file, weights] : reference) {
        EXPECT_LE(largest_difference(weights, other.at(file)), tolerance)
            << file << ", " << ranks << " ranks, accumulation " << accumulation;
      }
    }
  }
}

TEST_P(HoweverDivided, GivesTheSameWeightsOnOneTwoAndFourRanksInFloat32) {
  expect_neutral(GetParam(), with(ten_steps, sgd), 1e-6);
}

TEST_P(HoweverDivided, GivesTheSameWeightsOnOneTwoAndFourRanksInFloat64) {
  expect_neutral(GetParam(), with(ten_steps, adam_fp64), 1e-11);
}

INSTANTIATE_TEST_SUITE_P(Table, HoweverDivided, ::testing::ValuesIn(stage_names()), name_of);

}  // namespace
}  // namespace larmor::testing
