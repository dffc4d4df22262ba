// Both stages of the toy, with all that they ask for at once, train as a loop that is written by hand: under
// every strategy, on any number of ranks, however a step is divided.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"
#include "larmor/checkpoint/checkpoint.h"
#include "larmor/device/draw_position.h"
#include "larmor/run/run_setup.h"
#include "larmor/task/batch_device.h"

#include "tests/contract/by_hand.h"
#include "tests/contract/trial_run.h"
#include "tests/toy/coder/coder_task.h"

namespace larmor::testing {
namespace {

PlainTraining toy_training(bool in_doubles) {
  return {.batch = 8, .steps = 6, .rate = 0.01, .in_doubles = in_doubles};
}

using Optimizers = std::vector<std::unique_ptr<torch::optim::Optimizer>>;

/// The refiner's head learns half as fast and decays, as its task asks.
Optimizers optimizers_of(torch::nn::Module& network, bool is_refiner, const PlainTraining& training) {
  std::vector<at::Tensor> head, rest;
  for (const auto& item : network.named_parameters())
    (is_refiner && item.key().starts_with("blocks.3.") ? head : rest).push_back(item.value());
  Optimizers optimizers;
  optimizers.push_back(training.optimizer(rest));
  if (is_refiner) optimizers.push_back(training.optimizer(head, /*rate_factor=*/0.5, /*weight_decay=*/0.01));
  return optimizers;
}

/// What one over the standard deviation of the coder's latents is over a whole batch.
double latent_scale(Task& refiner, const Batch& batch) {
  const at::NoGradGuard no_gradients;
  auto& coder = dynamic_cast<toy::CoderNet&>(*refiner.companions().front());
  const auto latents = coder.encode(batch.at("image").narrow(1, 0, 1)).to(at::kDouble);
  return 1 / latents.std(/*unbiased=*/false).item<double>();
}

struct Trained {
  NamedTensors weights;
  double scale = 0;  // of the refiner's latents
};

/// Whole batches through the stage's networks and libtorch's optimizers: nothing of the trainer.
Trained train_by_hand(const TrialRun& run, bool is_refiner, bool in_doubles) {
  const auto loaded = load_run_stage(run.folder(), workload_named("toy"));
  const auto index = index_from_json(read_json(run.folder().index()));
  const auto training = toy_training(in_doubles);
  const auto type = training.type();
  const auto task = loaded.stage->task(loaded.config.config, index);
  auto& network = *task->objectives().front().network;
  network.to(type);
  network.train();
  for (auto* companion : task->companions()) {
    companion->to(type);
    companion->eval();
  }
  const auto optimizers = optimizers_of(network, is_refiner, training);
  const WholeBatches batches(loaded, index, training);
  Trained result;
  if (is_refiner) {
    const auto first = batches.of_step(0);
    result.scale = latent_scale(*task, first);
    const at::NoGradGuard no_gradients;
    task->prepare([&](const auto& use) { use(first); }, {});
  }
  for (int64_t step = 0; step < training.steps; ++step) {
    const auto batch = batches.of_step(step);
    StepContext context{.step = step};
    if (task->counted() > 0) context.counts = task->counts(batch).to(type);
    const DrawScope draws(draw_position_of(batch));
    network.zero_grad();
    task->losses(batch, context).front().backward();
    for (const auto& optimizer : optimizers) optimizer->step();
  }
  for (const auto& item : network.named_parameters()) result.weights[item.key()] = item.value().detach();
  return result;
}

struct ToyCase {
  std::string stage, strategy;
};
void PrintTo(const ToyCase& which, std::ostream* out) { *out << which.stage << " by " << which.strategy; }

std::vector<ToyCase> toy_cases() {
  std::vector<ToyCase> cases;
  for (const auto* stage : {"coder", "refiner"}) {
    for (const auto* strategy : {"ddp", "zero1", "zero2", "zero3"}) cases.push_back({stage, strategy});
  }
  return cases;
}

class ToyLoop : public ::testing::TestWithParam<ToyCase> {};
INSTANTIATE_TEST_SUITE_P(Of, ToyLoop, ::testing::ValuesIn(toy_cases()),
                         [](const auto& of) { return of.param.stage + "_" + of.param.strategy; });

TEST_P(ToyLoop, GivesTheWeightsOfALoopWrittenByHandHoweverAStepIsDivided) {
  const bool is_refiner = GetParam().stage == "refiner";
  for (const bool in_doubles : {false, true}) {
    std::optional<Trained> plain;
    for (const int ranks : {1, 2, 4}) {
      const int64_t accumulation = ranks == 4 ? 2 : 1;
      TrialRun run(StageName{"toy", GetParam().stage},
                   toy_training(in_doubles).words(GetParam().strategy, accumulation));
      run.train(ranks);
      if (!plain) plain = train_by_hand(run, is_refiner, in_doubles);
      const auto what = text(ranks, " ranks, accumulation ", accumulation);
      EXPECT_LE(largest_difference(run.tensors("model.safetensors"), plain->weights),
                in_doubles ? 1e-11 : 1e-6)
          << what;
      if (!is_refiner) continue;
      const auto entry = newest_good(run.folder().checkpoints(), nullptr).value();
      const auto scale = read_checkpoint_state(entry).at("task").at("scale").get<double>();
      EXPECT_NEAR(scale, plain->scale, plain->scale * (in_doubles ? 1e-12 : 1e-5)) << what;
    }
  }
}

}  // namespace
}  // namespace larmor::testing
