#include "tests/train/support/small_loop.h"

#include <ATen/ATen.h>

namespace larmor::testing {

namespace {

constexpr double rate = 0.01;

RunConfig config_of(const SmallLoopOptions& options) {
  RunConfig config;
  config.train.length = {.amount = 4, .unit = Length::Unit::steps};
  config.train.validate_every = {};
  config.checkpoint.every = {};
  config.checkpoint.async = false;
  config.optim.name = "sgd";
  config.optim.learning_rate = rate;
  config.optim.clip_norm = 0;
  options.change(config);
  return config;
}

Plan plan_of(const SmallLoopOptions& options, int ranks) {
  Plan plan;
  plan.ranks.assign(static_cast<size_t>(ranks), {.device = -1, .cores = {}});
  plan.global_batch = options.global_batch;
  plan.micro_batch = options.micro_batch;
  plan.accumulation = options.global_batch / options.micro_batch / ranks;
  plan.precision = Precision::fp64;
  plan.strategy = ranks > 1 ? Strategy::ddp : Strategy::single;
  plan.loader_threads = 0;
  plan.bucket_bytes = 1 << 20;
  return plan;
}

ExampleOrder order_of(const RunConfig& config) { return {static_cast<uint64_t>(config.run.seed), 8}; }

CheckpointOptions options_of(const RunConfig& config) {
  CheckpointOptions options;
  options.async = config.checkpoint.async;
  return options;
}

}  // namespace

Sample EightNumbers::get(const ExampleKey& key) const {
  if (unreadable.contains(key.example)) fail(Exit::data, "is cut short");
  return {{"image", at::full({1}, static_cast<double>(key.example + 1), at::kDouble)}};
}

OneWeight::OneWeight() : network(torch::nn::LinearOptions(1, 1).bias(false)) {
  const at::NoGradGuard no_gradients;
  network->to(at::kDouble);
  network->weight.zero_();
}

std::vector<at::Tensor> OneWeight::losses(const Batch& batch, const StepContext& context) {
  before_losses(batch);
  auto& examples = seen.emplace_back();
  for (const auto& key : batch.keys) examples.push_back(key.example);
  const auto squares = (network->forward(batch.at("image")) - 1).square();
  context.record("loss", squares.mean());
  return {counts_examples ? squares.sum() / context.counts.sum() : squares.mean()};
}

void OneWeight::prepare(const EachBatch& first, const StepContext&) {
  first([this](const Batch& batch) {
    before_losses(batch);
    auto& examples = seen.emplace_back();
    for (const auto& key : batch.keys) examples.push_back(key.example);
  });
}

at::Tensor OneWeight::counts(const Batch& batch) {
  return at::full({1}, static_cast<double>(batch.size()), at::kDouble);
}

void OneWeight::validate(const Batch& batch, Metrics& metrics) {
  const auto loss = (network->forward(batch.at("image")) - 1).square().item<double>();
  metrics.value("loss", batch.keys.front().example, judged(loss));
}

void HeardEvents::event(const Moment&, std::string_view kind, const Values& values, std::string_view words) {
  events.emplace_back(kind, words);
  last[std::string(kind)] = values;
}

std::vector<std::string> HeardEvents::of(const std::string& kind) const {
  std::vector<std::string> words;
  for (const auto& [of_kind, said] : events) {
    if (of_kind == kind) words.push_back(said);
  }
  return words;
}

SmallLoop::SmallLoop(Communicator& communicator, const SmallLoopOptions& options)
    : config(config_of(options)),
      plan(plan_of(options, communicator.size())),
      timetable(config.train, 8, plan.global_batch),
      board(communicator.size()),
      checkpoints(scratch.path() / "checkpoints", disk, communicator, options_of(config)),
      quarantine(scratch.path() / "quarantine.json", /*allowed=*/4, disk, communicator, heard),
      learners(make_learners(task, {{}}, config, plan, &timetable, communicator)),
      parts{.config = config,
            .plan = plan,
            .timetable = timetable,
            .task = task,
            .learners = learners,
            .open_loader =
                [this, &communicator](const Plan& plan, int64_t consumed,
                                      const std::map<int64_t, BadFile>& known_bad) {
                  const BatchSlice slice{.global_batch = plan.global_batch,
                                         .micro_batch = plan.micro_batch,
                                         .accumulation = plan.accumulation,
                                         .rank = communicator.rank(),
                                         .ranks = communicator.size()};
                  return std::make_unique<Loader>(
                      training, order_of(config), slice, consumed,
                      LoaderOptions{.workers = 0, .bad_files = 4, .known_bad = known_bad});
                },
            .training_cases = training,
            .validation_cases = validation,
            .reference_cases = nullptr,
            .checkpoints = checkpoints,
            .quarantine = quarantine,
            .tracker = heard,
            .communicator = communicator,
            .rank_sums = nullptr,
            .board = board,
            .faults = faults,
            .clock = clock,
            .time_left = {},
            .device = at::kCPU,
            .step_limit = {},
            .stop_asked = [this] { return stop_words; }},
      loop(parts, options.state) {}

double SmallLoop::after_step(double weight, const std::vector<int64_t>& examples) {
  double slope = 0;
  for (const auto example : examples) {
    const auto number = static_cast<double>(example + 1);
    slope += 2 * (weight * number - 1) * number / static_cast<double>(examples.size());
  }
  return weight - rate * slope;
}

std::vector<int64_t> SmallLoop::examples_of_step(int64_t step) const {
  std::vector<int64_t> examples;
  for (int64_t i = 0; i < plan.global_batch; ++i)
    examples.push_back(order_of(config).at(step * plan.global_batch + i).example);
  return examples;
}

}  // namespace larmor::testing
