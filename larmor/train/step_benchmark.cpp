#include "larmor/train/step_benchmark.h"

#include <optional>

#include <ATen/ATen.h>
#include <torch/nn/module.h>

#include "larmor/device/autocast.h"
#include "larmor/device/device.h"
#include "larmor/device/draw.h"
#include "larmor/device/module_state.h"
#include "larmor/device/rank_sum.h"
#include "larmor/device/run_block.h"
#include "larmor/parallel/rank_sums.h"
#include "larmor/train/batch_device.h"
#include "larmor/train/block_order.h"
#include "larmor/train/collective_meter.h"
#include "larmor/train/learner.h"
#include "larmor/train/whole_batch.h"

namespace larmor {

struct StepBenchmark::State {
  Plan plan;
  c10::Device device{c10::kCPU};
  std::shared_ptr<CollectiveMeter> meter;
  std::unique_ptr<Communicator> communicator;  // first to come and last to go
  std::optional<RankSums> rank_sums;
  std::unique_ptr<Task> task;
  std::vector<Learner> learners;
  std::vector<Batch> batches;
  StepContext context;
  int64_t steps = 0;
  double loss = 0;

  void backward(const Batch& batch);
  void backward_whole(WholeBatchLoss& whole_loss, const Batch& batch);
};

void StepBenchmark::State::backward(const Batch& batch) {
  const DrawScope draws(draw_position_of(batch));
  std::vector<at::Tensor> losses;
  {
    const AutocastScope autocast(device.type(), plan.precision);
    const RecomputeScope recompute(plan.recompute);
    losses = task->losses(batch, context);
  }
  for (size_t i = 0; i < losses.size(); ++i) learners[i].parallel->backward(losses[i], /*last=*/true, {});
  loss = losses.front().item<double>();
}

void StepBenchmark::State::backward_whole(WholeBatchLoss& whole_loss, const Batch& batch) {
  auto& learner = learners.front();
  WholeBatch whole(whole_loss, *learner.objective.network,
                   {.device = device, .precision = plan.precision, .recompute = plan.recompute});
  whole.forward(batch, context);
  whole.meet(/*well=*/true, context, *communicator);
  learner.parallel->backward(whole.share_of(0, context), /*last=*/true, {});
  loss = whole.loss();
}

StepBenchmark::StepBenchmark(Workload& workload, const RunConfig& config, const Plan& plan,
                             const Index& index, Communicator& communicator, int64_t batches)
    : state_(std::make_unique<State>()) {
  auto& state = *state_;
  state.plan = plan;
  state.meter = std::make_shared<CollectiveMeter>(communicator.device());
  state.communicator = observed(communicator, state.meter);
  auto& metered = *state.communicator;
  if (plan.sync_batch_norm) state.rank_sums.emplace(metered);
  state.device = communicator.device();
  set_up_process(plan, state.device);
  state.task = workload.task(config, index);
  const auto dataset = workload.dataset(config, index, Split::train);
  const auto blocks = blocks_to_cut(workload, config, plan, index, *dataset, *state.task);
  for (size_t i = 0; i < blocks.size(); ++i) {
    const Objective objective = state.task->objectives()[i];
    objective.network->to(state.device, plan.precision == Precision::fp64 ? c10::kDouble : c10::kFloat);
    objective.network->train();
    const auto& optim = config.optim_of(objective.name);
    state.learners.push_back(
        {.objective = objective,
         .optim = optim,
         .schedule_steps = {},
         .parallel = make_parallelism(plan, optim, *objective.network, metered, blocks[i])});
  }
  auto order = workload.order(config, index, *dataset);
  for (int64_t batch = 0; batch < batches; ++batch) {
    std::vector<Sample> samples;
    std::vector<ExampleKey> keys;
    for (int64_t row = 0; row < plan.micro_batch; ++row) {
      const int64_t place = batch * communicator.size() + communicator.rank();
      keys.push_back(order.at(place * plan.micro_batch + row));
      samples.push_back(dataset->get(keys.back()));
    }
    state.batches.push_back(to_device(collate(samples, keys), state.device, plan.precision));
  }
  constexpr int64_t past_every_warm_up = int64_t{1} << 40;
  state.context.epoch = past_every_warm_up;
  state.context.record = [](const std::string&, const at::Tensor&) {};
  state.context.mean_over_ranks = [](const at::Tensor& value) { return value; };
}

StepBenchmark::~StepBenchmark() = default;

void StepBenchmark::step() {
  auto& state = *state_;
  const RankSumScope all_ranks(state.rank_sums ? &*state.rank_sums : nullptr);
  const auto& batch = state.batches[static_cast<size_t>(state.steps++) % state.batches.size()];
  if (auto* const whole = state.task->whole_batch_loss()) {
    state.backward_whole(*whole, batch);
  } else {
    state.backward(batch);
  }
  for (auto& learner : state.learners) {
    learner.parallel->finish();
    learner.parallel->step(learner.optim.learning_rate);
  }
  synchronize(state.device);
}

double StepBenchmark::take_seconds_held_up() { return state_->meter->take_seconds(); }

double StepBenchmark::last_loss() const { return state_->loss; }

std::vector<int64_t> StepBenchmark::shape() const {
  return state_->batches.front().at("image").sizes().vec();
}

int64_t StepBenchmark::parameters() const {
  return parameter_count(*state_->learners.front().objective.network);
}

int64_t StepBenchmark::objectives() const { return static_cast<int64_t>(state_->learners.size()); }

}  // namespace larmor
