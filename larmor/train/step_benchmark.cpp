#include "larmor/train/step_benchmark.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <ATen/ATen.h>
#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/base/log.h"
#include "larmor/device/device.h"
#include "larmor/device/memory/memory_meter.h"
#include "larmor/device/module_state.h"
#include "larmor/device/rank_sum.h"
#include "larmor/device/send.h"
#include "larmor/judge/checked_dataset.h"
#include "larmor/measure/block_order.h"
#include "larmor/measure/collective_meter.h"
#include "larmor/parallel/rank_sums.h"
#include "larmor/task/batch_device.h"
#include "larmor/train/learner.h"
#include "larmor/train/step/pass_graphs.h"
#include "larmor/train/step/whole_batch.h"

namespace larmor {

struct StepBenchmark::State {
  Plan plan;
  c10::Device device{c10::kCPU};
  std::shared_ptr<CollectiveMeter> meter;
  std::unique_ptr<Communicator> communicator;  // first to come and last to go
  std::optional<RankSums> rank_sums;
  std::unique_ptr<Task> task;
  std::vector<Learner> learners;
  std::unique_ptr<PassGraphs> graphs;  // null where the plan has none
  Sample example;
  std::vector<Batch> batches;
  std::vector<StepContext> contexts;  // of each of them
  int64_t steps = 0;
  double loss = 0;

  /// Runs forward and backward `passes` times on one batch.
  void compute(int64_t passes);
  void backward(const Batch& batch, const StepContext& context, bool last);
  void backward_whole(WholeBatchLoss& whole_loss, const Batch& batch, const StepContext& context,
                      int64_t passes);
  void move_weights();
};

void StepBenchmark::State::compute(int64_t passes) {
  const RankSumScope all_ranks(rank_sums ? &*rank_sums : nullptr);
  const size_t turn = static_cast<size_t>(steps++) % batches.size();
  const auto& batch = batches[turn];
  const auto& context = contexts[turn];
  if (auto* const whole = task->whole_batch_loss()) {
    backward_whole(*whole, batch, context, passes);
    return;
  }
  for (int64_t pass = 0; pass < passes; ++pass) backward(batch, context, pass + 1 == passes);
}

void StepBenchmark::State::backward(const Batch& batch, const StepContext& context, bool last) {
  const std::vector<bool> active(learners.size(), true);
  const auto* const computed = graphs ? graphs->compute(batch, context, active) : nullptr;
  const auto losses = computed != nullptr ? computed->losses
                                          : losses_of(*task, batch, context, PassOptions::of(plan, device));
  for (size_t i = 0; i < losses.size(); ++i) {
    auto& parallel = *learners[i].parallel;
    computed != nullptr ? parallel.receive(computed->gradients[i], last, {})
                        : parallel.backward(losses[i], last, {});
  }
  loss = losses.front().item<double>();
}

void StepBenchmark::State::backward_whole(WholeBatchLoss& whole_loss, const Batch& batch,
                                          const StepContext& context, int64_t passes) {
  auto& learner = learners.front();
  WholeBatch whole(whole_loss, *learner.objective.network,
                   {.accumulation = passes, .pass = PassOptions::of(plan, device)});
  for (int64_t pass = 0; pass < passes; ++pass) whole.forward(batch, context);
  whole.gather(/*well=*/true, context, *communicator, *communicator);
  for (int64_t pass = 0; pass < passes; ++pass)
    learner.parallel->backward(whole.share_of(pass, context), pass + 1 == passes, {});
  loss = whole.loss().item<double>();
}

void StepBenchmark::State::move_weights() {
  for (auto& learner : learners) {
    learner.parallel->finish();
    learner.parallel->step(learner.optim.learning_rate);
  }
  synchronize(device);
}

namespace {

Sample shapes_of(const Sample& sample) {
  Sample shapes;
  for (const auto& [name, tensor] : sample)
    shapes[name] = at::empty(tensor.sizes(), tensor.options().device(at::kMeta));
  return shapes;
}

/// What training sees at a position: where a file cannot be used, the next one of the epoch.
Sample read_in_training(const Dataset& dataset, ExampleOrder& order, int64_t position, ExampleKey& key) {
  for (int64_t places = 0;; ++places) {
    key = order.substitute(position, places);
    try {
      return dataset.get(key);
    } catch (const Error& error) {
      if (error.exit() != Exit::data || places + 1 == order.examples()) throw;
    }
  }
}

/// Resets the peak to the bytes held now.
void reset_peak(c10::Device device) { device.is_cpu() ? reset_metered_peak() : reset_peak_memory(device); }

int64_t peak_since(c10::Device device) {
  return device.is_cpu() ? metered_memory().peak : peak_memory_bytes(device);
}

}  // namespace

StepBenchmark::StepBenchmark(const Stage& stage, const RunConfig& config, const Plan& plan,
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
  state.task = stage.task(config, index);
  const auto dataset = checked_dataset(stage, config, index, Split::train);
  const auto blocks = blocks_to_cut(stage, config, plan, index, *dataset, *state.task);
  state.learners = make_learners(*state.task, blocks, config, plan, /*timetable=*/nullptr, metered);
  for (auto& learner : state.learners) learner.objective.network->train();
  if (plan.graphs)
    state.graphs =
        std::make_unique<PassGraphs>(*state.task, state.learners, PassOptions::of(plan, state.device),
                                     LossShare(), [](const std::string& words) { log::warning(words); });
  auto order = stage.order(config, index, *dataset);
  for (int64_t batch = 0; batch < batches; ++batch) {
    std::vector<Sample> samples;
    std::vector<ExampleKey> keys;
    for (int64_t row = 0; row < plan.micro_batch; ++row) {
      const int64_t place = batch * communicator.size() + communicator.rank();
      samples.push_back(
          read_in_training(*dataset, order, place * plan.micro_batch + row, keys.emplace_back()));
    }
    state.example = shapes_of(samples.front());
    Batch on_host = collate(samples, keys);
    StepContext& context =
        state.contexts.emplace_back(measuring_context(*state.task, on_host, plan.precision));
    if (context.counts.defined()) context.counts = send(context.counts, state.device);
    state.batches.push_back(to_device(std::move(on_host), state.device, plan.precision));
  }
}

StepBenchmark::~StepBenchmark() = default;

void StepBenchmark::step() {
  state_->compute(/*passes=*/1);
  state_->move_weights();
}

void StepBenchmark::step_without_graphs() {
  auto graphs = std::exchange(state_->graphs, nullptr);
  step();
  state_->graphs = std::move(graphs);
}

MeasuredStep StepBenchmark::measured_step() {
  auto& state = *state_;
  // What the second of many finds, all later ones do: gradients that are there already.
  const int64_t passes = std::min<int64_t>(state.plan.accumulation, 2);
  MeasuredStep measured{.micro_batch = state.plan.micro_batch};
  reset_peak(state.device);
  measured.before = peak_since(state.device);
  state.compute(passes);
  measured.backward_peak = peak_since(state.device);
  reset_peak(state.device);
  state.move_weights();
  measured.update_peak = peak_since(state.device);
  return measured;
}

double StepBenchmark::take_seconds_held_up() { return state_->meter->take_seconds(); }

double StepBenchmark::last_loss() const { return state_->loss; }

std::vector<int64_t> StepBenchmark::shape() const {
  const auto& tensors = state_->batches.front().tensors;
  const auto image = tensors.find("image");
  if (image != tensors.end()) return image->second.sizes().vec();
  const auto by_size = [](const auto& left, const auto& right) {
    return left.second.nbytes() < right.second.nbytes();
  };
  return std::ranges::max_element(tensors, by_size)->second.sizes().vec();
}

int64_t StepBenchmark::batch_bytes() const {
  int64_t bytes = 0;
  for (const auto& entry : state_->batches.front().tensors)
    bytes += static_cast<int64_t>(entry.second.nbytes());
  return bytes;
}

const Sample& StepBenchmark::example() const { return state_->example; }

int64_t StepBenchmark::parameters() const {
  return parameter_count(*state_->learners.front().objective.network);
}

int64_t StepBenchmark::objectives() const { return static_cast<int64_t>(state_->learners.size()); }

}  // namespace larmor
