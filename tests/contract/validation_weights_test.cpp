// train.validate_with=average: what validation sees is the average that a checkpoint keeps, and training goes
// on as if nobody had looked.
#include <fstream>

#include <gtest/gtest.h>

#include "larmor/base/text.h"
#include "larmor/device/module_state.h"
#include "larmor/judge/checked_dataset.h"
#include "larmor/judge/validation.h"
#include "larmor/run/run_setup.h"

#include "tests/contract/trial_run.h"

namespace larmor::testing {
namespace {

std::vector<std::string> validated_by(const std::string& strategy, const std::string& weights) {
  return {"train.length=6st",        "train.validate_every=3st",      "train.global_batch=4",
          "optim.ema_decay=0.9",     "parallel.strategy=" + strategy, "train.validate_with=" + weights,
          "train.layout=contiguous", "optim.learning_rate=0.01",      "optim.schedule.warmup=0"};
}

/// "val/loss" of the last validation.
double last_validation_loss(const TrialRun& run) {
  double loss = 0;
  std::ifstream file(run.folder().events());
  for (std::string line; std::getline(file, line);) {
    const auto event = parse_json(line, "events.jsonl");
    if (event.at("kind") == "validation") loss = event.at("values").at("val/loss").get<double>();
  }
  return loss;
}

/// The same, of the newest checkpoint's weights in `file`.
double loss_by_weights(const TrialRun& run, const std::string& file) {
  const auto loaded = load_run_stage(run.folder(), workload_named("latent_diffusion"));
  const auto index = index_from_json(read_json(run.folder().index()));
  const auto task = loaded.stage->task(loaded.config.config, index);
  load_state_dict(*task->objectives().front().network, run.tensors(file));
  const auto cases = checked_dataset(*loaded.stage, loaded.config.config, index, Split::val);
  const auto solo = make_solo();
  const auto seed = static_cast<uint64_t>(loaded.config.config.run.seed);
  return validate(*task, *cases, *solo, {.seed = seed}).metrics.at("loss").mean;
}

class ValidationWeights : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(By, ValidationWeights, ::testing::Values("ddp", "zero1", "zero2", "zero3"),
                         [](const auto& of) { return of.param; });

TEST_P(ValidationWeights, AreThoseThatTheConfigAsksForAndLeaveTrainingAlone) {
  TrialRun live("latent_diffusion", validated_by(GetParam(), "live"));
  TrialRun average("latent_diffusion", validated_by(GetParam(), "average"));
  live.train(2);
  average.train(2);
  EXPECT_NEAR(last_validation_loss(live), loss_by_weights(live, "model.safetensors"), 1e-9);
  EXPECT_NEAR(last_validation_loss(average), loss_by_weights(average, "ema.safetensors"), 1e-9);
  EXPECT_GT(std::abs(last_validation_loss(live) - last_validation_loss(average)), 1e-6)
      << "weights that are alike test nothing";
  auto with_live = live.hashes(), with_average = average.hashes();
  for (auto* const hashes : {&with_live, &with_average})
    hashes->erase("state.json");  // it has the best metric
  EXPECT_EQ(with_average, with_live);
}

}  // namespace
}  // namespace larmor::testing
