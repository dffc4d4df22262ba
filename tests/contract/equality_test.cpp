// One rank equals two and four, accumulation changes nothing: with every objective active.
#include <functional>

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

using Compare =
    std::function<void(const std::string& file, const NamedTensors& other, const std::string& division)>;

struct Division {
  int ranks, accumulation;
};

void compare_divisions(const StageName& stage, const std::vector<std::string>& words,
                       const std::vector<Division>& divisions, const Compare& compare) {
  for (const auto& [ranks, accumulation] : divisions) {
    for (const auto& [file, weights] : weights_after(stage, words, ranks, accumulation))
      compare(file, weights, text(file, ", ", ranks, " ranks, accumulation ", accumulation));
  }
}

// What float64 shows of each division is shown again of two, whose rounding differs from one rank's most.
TEST_P(HoweverDivided, GivesTheSameWeightsOnTwoAndFourRanksInFloat32) {
  const auto words = with(ten_steps, sgd);
  const auto in_float32 = weights_after(GetParam(), words, 1, 1),
             in_other_layout = weights_after(GetParam(), with(words, {"train.layout=contiguous"}), 1, 1),
             exact = weights_after(GetParam(), with(words, {"train.precision=fp64"}), 1, 1);
  compare_divisions(GetParam(), words, {{2, 1}, {4, 3}},
                    [&](const std::string& file, const NamedTensors& other, const std::string& division) {
                      expect_but_for_rounding(
                          other, {in_float32.at(file), in_other_layout.at(file), exact.at(file)}, division);
                    });
}

TEST_P(HoweverDivided, GivesTheSameWeightsOnOneTwoAndFourRanksInFloat64) {
  const auto words = with(ten_steps, adam_fp64);
  const auto reference = weights_after(GetParam(), words, 1, 1);
  compare_divisions(GetParam(), words, {{1, 3}, {2, 1}, {2, 3}, {4, 1}, {4, 3}},
                    [&](const std::string& file, const NamedTensors& other, const std::string& division) {
                      EXPECT_LE(largest_difference(reference.at(file), other), 1e-11) << division;
                    });
}

INSTANTIATE_TEST_SUITE_P(Table, HoweverDivided, ::testing::ValuesIn(stage_names()), name_of);

}  // namespace
}  // namespace larmor::testing
