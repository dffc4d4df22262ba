// Memory that runs out in training: all ranks go on with smaller micro-batches, and nothing else changes.
#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"
#include "larmor/checkpoint/checkpoint.h"
#include "larmor/device/memory/memory_meter.h"
#include "larmor/launch/restart_policy.h"
#include "larmor/plan/plan.h"

#include "tests/contract/trial_run.h"

namespace larmor::testing {
namespace {

// Activations have to outweigh everything else, so the crops are those of tiny.yaml.
const std::vector<std::string> four_steps_of_eight{
    "data.transforms=[{RandSpatialCrop: {roi_size: [16, 16, 16]}}, {ScaleIntensityRangePercentiles: {lower: "
    "0, "
    "upper: 99.5, b_min: 0, b_max: 1, clip: true}}]",
    "train.length=4st",
    "train.validate_every=0",
    "train.global_batch=8",
    "optim.name=adam",
    "optim.weight_decay=0",
    "optim.schedule.name=constant",
    "optim.schedule.warmup=0",
    "train.precision=fp64",
    "optim.clip_norm=0",
    "data.workers=1",
    "data.prefetch=1"};

std::vector<std::string> in_micro_batches_of(int64_t size) {
  auto words = four_steps_of_eight;
  words.push_back(text("train.micro_batch=", size));
  return words;
}

struct TrialOutcome {
  std::map<std::string, NamedTensors> weights;
  int64_t peak = 0;
};

/// Trained once for all tests.
const TrialOutcome& train_with(int64_t micro_batch) {
  static std::map<int64_t, TrialOutcome> known;
  const auto [place, is_new] = known.try_emplace(micro_batch);
  TrialOutcome& outcome = place->second;
  if (!is_new) return outcome;
  start_memory_meter();
  reset_metered_peak();
  TrialRun run("latent_diffusion", in_micro_batches_of(micro_batch));
  run.train(2);
  outcome.peak = metered_memory().peak;
  for (const auto& file : run.weight_files()) outcome.weights[file] = run.tensors(file);
  return outcome;
}

/// Lifted at the end, whatever happens.
struct MemoryLimit {
  explicit MemoryLimit(int64_t bytes) { limit_metered_memory(bytes); }
  ~MemoryLimit() { limit_metered_memory(0); }
};

std::string memory_warnings_of(const RunFolder& folder) {
  std::string all;
  std::ifstream file(folder.events());
  for (std::string line; std::getline(file, line);) {
    if (line.find("\"warning\"") != std::string::npos) all += line + "\n";
  }
  return all;
}

TEST(OutOfMemory, MakesAllRanksGoOnWithSmallerMicroBatches) {
  const TrialOutcome &large = train_with(4), &small = train_with(2);
  ASSERT_GT(large.peak, small.peak + (1 << 20)) << "the test needs room for its limit";
  TrialRun run("latent_diffusion", in_micro_batches_of(4));
  {
    const MemoryLimit limit((large.peak + small.peak) / 2);
    EXPECT_EQ(run.train(2, 3).training.state.micro_batch, 2);
  }
  EXPECT_NE(memory_warnings_of(run.folder()).find("all go on with 2 and accumulation 2"), std::string::npos)
      << memory_warnings_of(run.folder());
  const auto entry = newest_good(run.folder().checkpoints(), nullptr).value();
  EXPECT_EQ(read_checkpoint_state(entry).at("trainer").at("micro_batch"), 2);

  EXPECT_EQ(run.train(2).training.state.micro_batch, 2) << "a resumed run has to remember";
  for (const auto& [file, weights] : large.weights)
    EXPECT_LE(largest_difference(run.tensors(file), weights), 1e-11) << file;
}

TEST(OutOfMemory, MakesTheLauncherStartCutWeightsAgainWithSmallerMicroBatches) {
  const TrialOutcome &large = train_with(4), &small = train_with(2);
  TrialRun run("latent_diffusion", in_micro_batches_of(4));
  const MemoryLimit limit((large.peak + small.peak) / 2);
  const std::vector<std::string> zero3{"parallel.strategy=zero3"};
  try {
    run.train(2, {}, zero3);
    FAIL() << "there was room";
  } catch (const Error& error) {
    EXPECT_TRUE(error.exit() == Exit::memory || error.exit() == Exit::rank_lost) << error.what();
  }
  DiskStorage storage;
  GroupEnding ending;
  ending.exit = Exit::memory;
  const auto plan = plan_from_json(read_json(run.folder().plan()));
  const auto next = RestartPolicy({}, -1).decide(ending, {.plan = plan});
  ASSERT_TRUE(next.smaller_micro_batches);
  write_text(storage, run.folder().plan(), to_text(to_json(*next.smaller_micro_batches)));
  run.train(2, {}, zero3);
  for (const auto& [file, weights] : large.weights)
    EXPECT_LE(largest_difference(run.tensors(file), weights), 1e-11) << file;
}

TEST(Probe, TakesSmallerMicroBatchesBeforeTheFirstStep) {
  const TrialOutcome &large = train_with(4), &small = train_with(2);
  auto words = in_micro_batches_of(4);
  words.emplace_back("plan.probe=true");
  TrialRun run("latent_diffusion", words);
  {
    const MemoryLimit limit((large.peak + small.peak) / 2);
    run.train(2);
  }
  const auto plan = parse_json(read_text(run.folder().plan()), "plan.json");
  EXPECT_EQ(plan.at("micro_batch"), 2);
  EXPECT_EQ(plan.at("accumulation"), 2);
  EXPECT_GT(plan.at("memory").at("measured"), 0);
  EXPECT_EQ(memory_warnings_of(run.folder()), "") << "training itself has to fit now";
  for (const auto& [file, weights] : large.weights)
    EXPECT_LE(largest_difference(run.tensors(file), weights), 1e-11) << file;
}

std::vector<std::string> batch_norm_in_batches_of(int64_t size) {
  return {"model.norm=batch",
          "data.cohort_size=[32, 32, 32]",
          "train.length=2st",
          "train.validate_every=0",
          text("train.global_batch=", size),
          "optim.clip_norm=0",
          "optim.schedule.name=constant",
          "optim.schedule.warmup=0"};
}

/// What one rank alone takes to train on so many samples at once.
int64_t peak_of_one_rank(int64_t samples) {
  TrialRun run("survival", batch_norm_in_batches_of(samples));
  start_memory_meter();
  reset_metered_peak();
  const int64_t before = metered_memory().held;
  run.train(1);
  return metered_memory().peak - before;
}

/// Smaller micro-batches would be another network, so nothing is left but to end, on all ranks alike.
TEST(OutOfMemory, EndsAllRanksOfABatchNormWithTheReason) {
  const int64_t of_three = peak_of_one_rank(3), of_six = peak_of_one_rank(6);
  const int64_t of_samples = 2 * (of_six - of_three), of_weights = of_six - of_samples;
  ASSERT_GT(of_samples, 1 << 20) << "the test needs room for its limit";
  TrialRun run("survival", batch_norm_in_batches_of(12));
  {
    // Weights and all that two ranks have of them fit, and not what one of them computes on six samples.
    const MemoryLimit limit(metered_memory().held + 2 * of_weights + of_samples / 2);
    EXPECT_ANY_THROW(run.train(2));
  }
  for (const auto& failure : run.errors()) {
    ASSERT_TRUE(failure) << "a rank has trained";
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      const auto* const ours = dynamic_cast<const Error*>(&error);
      ASSERT_NE(ours, nullptr) << error.what();
      EXPECT_EQ(ours->exit(), Exit::memory) << error.what();
      EXPECT_NE(ours->message().find("memory ran out with micro-batch 6"), std::string::npos) << error.what();
      EXPECT_NE(ours->message().find("batch norm would compute something else"), std::string::npos);
    }
  }
}

/// What a probe says of `memory.measured` and `memory.predicted`, and why it took what it took.
struct Probed {
  int64_t micro_batch, taken, predicted;
  std::string reasons;
};

Probed probe_one_rank(int64_t micro_batch) {
  auto words = in_micro_batches_of(micro_batch);
  std::replace(words.begin(), words.end(), std::string("train.precision=fp64"),
               std::string("train.precision=fp32"));
  words.emplace_back("plan.probe=true");
  TrialRun run("latent_diffusion", words);
  run.train(1, 1);
  const auto plan = parse_json(read_text(run.folder().plan()), "plan.json");
  const auto& memory = plan.at("memory");
  return {.micro_batch = plan.at("micro_batch"),
          .taken = memory.at("measured"),
          .predicted = memory.at("predicted"),
          .reasons = plan.at("reasons").dump()};
}

TEST(Probe, ForeseesWhatAStepTakes) {
  for (const int64_t micro_batch : {4, 8}) {
    const Probed probed = probe_one_rank(micro_batch);
    const auto taken = static_cast<double>(probed.taken);
    EXPECT_EQ(probed.micro_batch, micro_batch);
    EXPECT_NEAR(static_cast<double>(probed.predicted), taken, 0.1 * taken);
    EXPECT_NE(probed.reasons.find(text("micro-batch ", micro_batch, ": predicted ")), std::string::npos);
  }
}

TEST(Probe, TakesASmallerMicroBatchWithoutTryingOneThatWouldNotFit) {
  const int64_t of_four = probe_one_rank(4).taken, of_eight = probe_one_rank(8).taken;
  ASSERT_GT(of_eight, of_four * 3 / 2) << "the test needs room for its limit";
  const MemoryLimit limit(of_four * 6 / 5);
  const Probed probed = probe_one_rank(8);
  EXPECT_EQ(probed.micro_batch, 4);
  EXPECT_NE(probed.reasons.find("micro-batch 8 was not tried"), std::string::npos) << probed.reasons;
  EXPECT_EQ(probed.reasons.find("did not fit"), std::string::npos) << probed.reasons;
  EXPECT_NEAR(static_cast<double>(probed.predicted), static_cast<double>(probed.taken),
              0.1 * static_cast<double>(probed.taken));
}

TEST(OutOfMemory, EndsTheRunWhereOneExampleIsTooMuch) {
  const TrialOutcome& small = train_with(1);
  TrialRun run("latent_diffusion", in_micro_batches_of(4));
  const MemoryLimit limit(small.peak * 2 / 3);
  try {
    run.train(2);
    FAIL() << "trained";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::memory) << error.what();
  }
}

}  // namespace
}  // namespace larmor::testing
