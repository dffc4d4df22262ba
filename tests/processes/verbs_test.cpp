// What can be done with a run once it is there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/processes/support/trained_run.h"
#include "tests/processes/support/trained_state.h"
#include "tests/processes/support/weights.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

constexpr int usage = 2, data = 3, environment = 4, checkpoint = 7;

std::vector<std::string> keys_of(const Json& json) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  return keys;
}

class Verbs : public TrainedRun {};

TEST_F(Verbs, EvaluateGivesEachMetricAsAMeanAndByCase) {
  const auto json = call({"evaluate", "run", "--json"}).json();
  EXPECT_THAT(keys_of(json), UnorderedElementsAre("split", "n", "patients", "checkpoint", "averaged", "loss",
                                                  "psnr", "ssim", "l1"));
  EXPECT_EQ(json["split"], "val");
  EXPECT_EQ(json["n"], 6);
  EXPECT_EQ(json["patients"], 6);
  for (const auto* metric : {"psnr", "ssim", "l1"}) {
    EXPECT_THAT(keys_of(json[metric]), IsSupersetOf({"mean", "interval", "per_case", "better", "meaning"}));
    EXPECT_EQ(json[metric].contains("unit"), metric == std::string("psnr")) << metric;
    ASSERT_EQ(json[metric]["per_case"].size(), 6U) << metric;
    double sum = 0;
    for (const auto& row : json[metric]["per_case"]) sum += row["value"].get<double>();
    EXPECT_NEAR(json[metric]["mean"].get<double>(), sum / 6, 1e-9) << metric;
  }
}

TEST_F(Verbs, EvaluateOfTheLastCheckpointIsTheLastValidation) {
  const auto json = call({"evaluate", "run", "--checkpoint", "last", "--json"}).json();
  const auto last = events_of(run(), "validation").back();
  for (const std::string metric : {"psnr", "ssim", "l1"}) {
    EXPECT_NEAR(json[metric]["mean"].get<double>(), last["values"]["val/" + metric].get<double>(), 1e-6)
        << metric;
  }
}

TEST_F(Verbs, EvaluateTakesASplitAndACheckpointByNameOrPath) {
  const auto oldest = checkpoint_names(run()).front();
  const auto by_name = call({"evaluate", "run", "--split", "train", "--checkpoint", oldest, "--json"}).json();
  EXPECT_EQ(by_name["split"], "train");
  EXPECT_EQ(by_name["n"], 18);
  EXPECT_EQ(by_name["checkpoint"], oldest);
  const auto path = (run() / "checkpoints" / oldest).string();
  EXPECT_EQ(call({"evaluate", "run", "--split", "train", "--checkpoint", path, "--json"}).json(), by_name);
}

TEST_F(Verbs, EvaluateRefusesASplitThatIsNotThere) {
  const auto mistyped = call({"evaluate", "run", "--split", "tset"});
  EXPECT_EQ(mistyped.status, usage);
  EXPECT_THAT(mistyped.err, AllOf(HasSubstr("tset"), HasSubstr("train, val or test")));
  const auto empty = call({"evaluate", "run", "--split", "test"});
  EXPECT_EQ(empty.status, data);
  EXPECT_THAT(empty.err, HasSubstr("--split"));
}

TEST_F(Verbs, WhatIsNoRunIsNamed) {
  const auto mistyped = call({"evaluate", "rnu"});
  EXPECT_EQ(mistyped.status, usage);
  EXPECT_THAT(mistyped.err, HasSubstr("rnu"));
  const auto workload = call({"export", "latent_diffusion", "--output", "x.safetensors"});
  EXPECT_EQ(workload.status, usage);
  EXPECT_THAT(workload.err, AllOf(HasSubstr("latent_diffusion is a workload"), HasSubstr("larmor train")));
  EXPECT_THAT(call({"checkpoint", "list"}).err, HasSubstr("no run was named"));
}

TEST_F(Verbs, WordsThatARunCannotUseAreRefused) {
  put_file(folder() / "in.nii", nifti_bytes());
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"evaluate", "run", "-c", "tiny"},
           {"evaluate", "run", "--stage", "autoencoder"},
           {"train", "run", "-c", "tiny"},
           {"train", "run", "--stage", "diffusion"},
           {"checkpoint", "list", "run", "run.seed=1"},
           {"export", "run", "--output", "x.safetensors", "run.seed=1"},
           {"predict", "run", "--weights", "w", "--input", "in.nii", "--output", "x.nii"}}) {
    EXPECT_EQ(call(words).status, usage) << words[0] << " … " << words.back();
  }
}

TEST_F(Verbs, ExportGivesTheBytesOfTheBestCheckpoint) {
  const auto json = call({"export", "run", "--output", "out.safetensors", "--json"}).json();
  EXPECT_THAT(keys_of(json), UnorderedElementsAre("output", "checkpoint", "bytes", "sha256"));
  const auto bytes = read_text(folder() / "out.safetensors");
  EXPECT_EQ(bytes, read_text(run() / "checkpoints" / "best" / "model.safetensors"));
  EXPECT_EQ(json["bytes"], bytes.size());
  EXPECT_EQ(bytes[8], '{') << "a JSON header behind its length";
  const auto weights = read_weights(folder() / "out.safetensors");
  for (const auto* name :
       {"encoder.blocks.0.conv.weight", "quant_conv_mu.conv.weight", "decoder.blocks.0.conv.weight"}) {
    EXPECT_TRUE(weights.contains(name)) << name;
  }
}

TEST_F(Verbs, ExportGivesTheAverageWhereThereIsOne) {
  ASSERT_EQ(call({"export", "run", "--output", "average.safetensors", "--ema"}).status, 0);
  const auto weights = read_weights(run() / "checkpoints" / "best" / "model.safetensors");
  const auto average = read_weights(folder() / "average.safetensors");
  EXPECT_EQ(average.size(), weights.size());
  EXPECT_GT(largest_difference(average, weights), 0);

  const auto without =
      with(with(small_training("plain", 1, 1), "optim.ema_decay", "0"), "optim.schedule.name", "constant");
  auto words = with(with(without, "optim.schedule.warmup", "0"), "track.tensorboard", "false");
  ASSERT_EQ(call(words).status, 0);
  const auto refused = call({"export", "plain", "--output", "none.safetensors", "--ema"});
  EXPECT_EQ(refused.status, usage);
  EXPECT_THAT(refused.err, HasSubstr("optim.ema_decay"));
  EXPECT_FALSE(std::filesystem::exists(folder() / "none.safetensors"));
}

TEST_F(Verbs, ExportSaysWhereItCannotWrite) {
  const auto end = call({"export", "run", "--output", "/proc/out.safetensors"});
  EXPECT_EQ(end.status, environment);
  EXPECT_THAT(end.err, HasSubstr("/proc/"));
}

TEST_F(Verbs, CheckpointsAreListedAndVerified) {
  const auto listed = call({"checkpoint", "list", "run", "--json"}).json();
  ASSERT_FALSE(listed.empty());
  EXPECT_THAT(keys_of(listed[0]),
              UnorderedElementsAre("step", "epoch", "metric", "bytes", "ok", "reason", "pinned"));
  const auto verified = call({"checkpoint", "verify", "run", "--json"});
  EXPECT_EQ(verified.status, 0);
  EXPECT_EQ(verified.json(), listed);
}

TEST_F(Verbs, PruneKeepsWhatTheRunsConfigSays) {
  const auto pruned = copy_of_run("pruned");
  const auto names = checkpoint_names(pruned);
  ASSERT_EQ(names.size(), 2U);
  EXPECT_EQ(call({"checkpoint", "prune", "pruned", "--json"}).json(), Json::array())
      << "the run has kept as many as it may";
  auto config = read_text(pruned / "config.yaml");
  config.replace(config.find("keep_last: 2"), 12, "keep_last: 1");
  config.replace(config.find("keep_best: 1"), 12, "keep_best: 0");
  put_file(pruned / "config.yaml", config);
  EXPECT_EQ(call({"checkpoint", "prune", "pruned", "--json"}).json(), Json::array({names.front()}));
  EXPECT_EQ(checkpoint_names(pruned), std::vector{names.back()}) << "the newest stays";
}

TEST_F(Verbs, AFlippedBitIsFoundAndPassedOver) {
  const auto damaged = copy_of_run("damaged");
  std::filesystem::remove(damaged / "DONE");
  const auto newest = damaged / "checkpoints" / checkpoint_names(damaged).back();
  auto bytes = read_text(newest / "model.safetensors");
  bytes[bytes.size() / 2] ^= 1;
  put_file(newest / "model.safetensors", bytes);

  const auto verified = call({"checkpoint", "verify", "damaged", "--json"});
  EXPECT_EQ(verified.status, checkpoint);
  EXPECT_EQ(verified.json().size(), call({"checkpoint", "list", "run", "--json"}).json().size());
  EXPECT_EQ(call({"export", "damaged", "--output", "d.safetensors", "--checkpoint", "last"}).status,
            checkpoint);
  EXPECT_EQ(call({"train", "damaged", "--resume", newest.string()}).status, checkpoint);
  const auto end = call({"train", "damaged"});
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("passed over the damaged checkpoint"));
  EXPECT_EQ(trained_state(damaged).files, trained_state(run()).files);
}

}  // namespace
}  // namespace larmor::testing
