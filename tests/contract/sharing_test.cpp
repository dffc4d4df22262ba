// How ranks share the work, and what they keep or compute again, changes neither weights nor what is
// measured; a run may go on with another strategy than it began with.
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/contract/trial_run.h"

namespace larmor::testing {
namespace {

const std::vector<std::string> four_steps{
    "train.length=4st",        "train.validate_every=2st", "checkpoint.every=1st",
    "train.global_batch=12",   "optim.name=adam",          "optim.learning_rate=0.001",
    "optim.weight_decay=0",    "optim.clip_norm=0.5",      "optim.schedule.name=constant",
    "optim.schedule.warmup=0", "train.precision=fp64",     "optim.ema_decay=0.9"};

struct Sharing {
  int ranks;
  std::string strategy, recompute;
  int accumulation = 1;
  bool offload = false;

  std::vector<std::string> words() const {
    return {"parallel.strategy=" + strategy, "train.activation_checkpointing=" + recompute,
            text("parallel.offload=", offload ? "optimizer" : "none")};
  }
};

std::string describe(const Sharing& sharing) {
  return text(sharing.strategy, " x ", sharing.ranks, ", recomputes ", sharing.recompute, ", accumulation ",
              sharing.accumulation, sharing.offload ? ", optimizer on the host" : "");
}

/// Of every network, and the averages.
using SharedWeights = std::map<std::string, NamedTensors>;

SharedWeights shared_weights_of(const TrialRun& run) {
  SharedWeights weights;
  for (const auto& file : run.weight_files()) weights[file] = run.tensors(file);
  weights["ema.safetensors"] = run.tensors("ema.safetensors");
  return weights;
}

std::vector<std::string> four_steps_with(int accumulation) {
  auto words = four_steps;
  words.push_back(text("train.accumulation=", accumulation));
  return words;
}

void expect_close(const SharedWeights& weights, const SharedWeights& reference, const std::string& what) {
  ASSERT_EQ(weights.size(), reference.size()) << what;
  for (const auto& [file, tensors] : reference)
    EXPECT_LE(largest_difference(tensors, weights.at(file)), 1e-11) << file << ", " << what;
}

/// What every way of sharing is held against, trained once.
const SharedWeights& weights_by_one_rank(const StageName& stage) {
  static std::map<StageName, SharedWeights> known;
  auto& weights = known[stage];
  if (!weights.empty()) return weights;
  TrialRun run(stage, four_steps_with(1));
  run.train(1);
  return weights = shared_weights_of(run);
}

class HoweverShared : public ::testing::TestWithParam<StageName> {};

TEST_P(HoweverShared, GivesTheSameWeights) {
  const SharedWeights& reference = weights_by_one_rank(GetParam());
  for (const Sharing& sharing :
       {Sharing{2, "ddp", "all"}, Sharing{1, "single", "blocks"}, Sharing{2, "zero1", "none", 3},
        Sharing{4, "zero2", "blocks"}, Sharing{2, "zero2", "none", 2, true}, Sharing{2, "zero3", "none"},
        Sharing{3, "zero3", "all", 2}}) {
    TrialRun run(GetParam(), four_steps_with(sharing.accumulation));
    run.train(sharing.ranks, {}, sharing.words());
    expect_close(shared_weights_of(run), reference, describe(sharing));
  }
}

TEST_P(HoweverShared, GoesOnWithAnotherStrategy) {
  const SharedWeights& reference = weights_by_one_rank(GetParam());
  const std::pair<Sharing, Sharing> ways[] = {{{2, "zero3", "blocks"}, {1, "single", "none"}},
                                              {{1, "single", "none"}, {4, "zero3", "none"}},
                                              {{4, "zero1", "none"}, {2, "zero2", "all"}}};
  for (const auto& [before, after] : ways) {
    TrialRun run(GetParam(), four_steps_with(1));
    run.train(before.ranks, 2, before.words());
    run.train(after.ranks, {}, after.words());
    expect_close(shared_weights_of(run), reference, describe(before) + ", then " + describe(after));
  }
}

TEST_P(HoweverShared, GoesOnWithTheSameBits) {
  const Sharing sharing{2, "zero3", "blocks"};
  TrialRun straight(GetParam(), four_steps_with(1)), broken(GetParam(), four_steps_with(1));
  straight.train(sharing.ranks, {}, sharing.words());
  broken.train(sharing.ranks, 2, sharing.words());
  broken.train(sharing.ranks, {}, sharing.words());
  EXPECT_EQ(broken.hashes(), straight.hashes());
}

INSTANTIATE_TEST_SUITE_P(Table, HoweverShared, ::testing::ValuesIn(stage_names()), name_of);

}  // namespace
}  // namespace larmor::testing
