#include "larmor/train/step/pass_graphs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <stdexcept>
#include <utility>

#include <ATen/ATen.h>
#include <c10/util/Exception.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/nn/module.h>

#include "larmor/base/text.h"
#include "larmor/device/cuda/graph.h"
#include "larmor/device/draw_position.h"
#include "larmor/device/memory/out_of_memory.h"
#include "larmor/device/send.h"
#include "larmor/parallel/agreement.h"
#include "larmor/task/batch_device.h"
#include "larmor/task/networks.h"
#include "larmor/train/step/kept_buffers.h"

namespace larmor {

namespace {

/// Plain passes of one kind before it is recorded: libraries set themselves up in them.
constexpr int64_t warm_ups = 2;
/// Batches that are of another kind each time would be recorded for nothing.
constexpr int64_t most_kinds = 16;

std::vector<const torch::nn::Module*> networks_that_learn(const std::vector<Learner>& learners) {
  std::vector<const torch::nn::Module*> networks;
  for (const auto& learner : learners) networks.push_back(learner.objective.network);
  return networks;
}

std::string message_of(const std::exception& error) {
  const auto* const of_libtorch = dynamic_cast<const c10::Error*>(&error);
  const std::string words = of_libtorch != nullptr ? of_libtorch->what_without_backtrace() : error.what();
  return words.substr(0, words.find('\n'));
}

/// How far tensors are from their replays: the largest share of a tensor's norm, where one counts for at
/// least a thousandth of all. Nothing where one of them is not finite.
std::optional<double> distance(const std::vector<at::Tensor>& plain,
                               const std::vector<at::Tensor>& replayed) {
  std::vector<at::Tensor> norms;
  for (size_t i = 0; i < plain.size(); ++i) {
    if (plain[i].defined() != replayed[i].defined()) return INFINITY;
    if (!plain[i].defined()) continue;
    const at::Tensor exact = plain[i].detach().to(at::kDouble);
    norms.push_back(exact.norm());
    norms.push_back((exact - replayed[i].detach()).norm());
  }
  if (norms.empty()) return 0;
  const at::Tensor on_host = at::stack(norms).cpu();
  const double* const values = on_host.const_data_ptr<double>();
  double squares = 0, worst = 0;
  for (size_t i = 0; i < norms.size(); i += 2) squares += values[i] * values[i];
  for (size_t i = 0; i < norms.size(); i += 2)
    worst = std::max(worst, values[i + 1] / std::max(values[i], 1e-3 * std::sqrt(squares)));
  if (!std::isfinite(squares)) return std::nullopt;
  return std::isnan(worst) ? INFINITY : worst;
}

/// Sums in another order, as some libraries have them from call to call.
double most_distance(Precision precision) {
  return precision == Precision::fp32 || precision == Precision::fp64 ? 1e-4 : 2e-2;
}

}  // namespace

/// A graph and the tensors that it reads and writes.
struct PassGraphs::Recorded {
  std::unique_ptr<Graph> graph;  // first to come and last to go
  Batch batch;
  at::Tensor keys, counts;
  ComputedPass result;
  std::vector<std::pair<std::string, at::Tensor>> values;
  std::vector<std::pair<std::string, std::array<at::Tensor, 2>>> ratios;
  std::vector<at::Tensor> weights;  // and buffers
  std::vector<const void*> places;  // of the weights
  bool is_checked = false;

  Recorded(Task& task, const Batch& like, const StepContext& now, c10::Device device);
  bool weights_are_in_place() const;
  void fill(const Batch& from, const StepContext& now);
  StepContext recording_context(const StepContext& now);
  void replay(const StepContext& now);
};

PassGraphs::Recorded::Recorded(Task& task, const Batch& like, const StepContext& now, c10::Device device)
    : batch{.tensors = {}, .keys = like.keys, .positions = like.positions} {
  for (const auto& [name, tensor] : like.tensors) batch.tensors.emplace(name, at::empty_like(tensor));
  keys = send(draw_keys(draw_position_of(like)), device);
  if (now.counts.defined()) counts = at::empty_like(now.counts);
  for (const auto* const network : networks_of(task)) {
    for (const auto& parameter : network->parameters()) weights.push_back(parameter);
    for (const auto& buffer : network->buffers()) weights.push_back(buffer);
  }
  for (const auto& weight : weights) places.push_back(weight.const_data_ptr());
}

bool PassGraphs::Recorded::weights_are_in_place() const {
  return std::ranges::equal(weights, places, {}, [](const at::Tensor& one) { return one.const_data_ptr(); });
}

void PassGraphs::Recorded::fill(const Batch& from, const StepContext& now) {
  for (const auto& [name, tensor] : from.tensors) batch.tensors.at(name).copy_(tensor);
  keys.copy_(send(draw_keys(draw_position_of(from)), keys.device()));
  if (counts.defined()) counts.copy_(now.counts);
}

StepContext PassGraphs::Recorded::recording_context(const StepContext& now) {
  const auto refuse = [](const at::Tensor&) -> at::Tensor {
    throw std::logic_error("the ranks meet within the pass");
  };
  StepContext context = now;
  context.counts = counts;
  context.record = [this](const std::string& name, const at::Tensor& value) {
    values.emplace_back(name, value.detach());
  };
  context.record_ratio = [this](const std::string& name, const at::Tensor& sum, const at::Tensor& count) {
    ratios.emplace_back(name, std::array{sum.detach(), count.detach()});
  };
  context.mean_over_ranks = refuse;
  context.sum_over_ranks = refuse;
  return context;
}

void PassGraphs::Recorded::replay(const StepContext& now) {
  graph->replay();
  // Copies, for whoever keeps one of a micro-batch keeps it over the next replay.
  for (const auto& [name, value] : values) now.record(name, value.clone());
  for (const auto& [name, parts] : ratios) now.record_ratio(name, parts[0].clone(), parts[1].clone());
}

PassGraphs::PassGraphs(Task& task, const std::vector<Learner>& learners, const PassOptions& options,
                       LossShare share, std::function<void(const std::string&)> tell)
    : task_(task),
      learners_(learners),
      options_(options),
      share_(share),
      tell_(std::move(tell)),
      scales_(learners.size()),
      scales_there_(learners.size()) {
  for (size_t i = 0; i < learners.size(); ++i) {
    auto& own = parameters_.emplace_back();
    for (const auto& named : learning_parameters(*learners[i].objective.network)) own.push_back(named.second);
    if (options_.precision == Precision::fp16)
      scales_[i] = at::zeros({}, at::TensorOptions(options_.device).dtype(at::kFloat));
  }
  if (task_.whole_batch_loss() != nullptr)
    stop("the loss is one of the whole batch, which ranks bring together");
}

PassGraphs::~PassGraphs() = default;

void PassGraphs::stop(const std::string& why) {
  if (is_stopped_) return;
  is_stopped_ = true;
  forget();
  tell_(text("train.graphs: kernels are launched one by one from here on: ", why));
}

void PassGraphs::forget() {
  plain_ = {};
  if (!recorded_) return;
  recorded_.reset();
  release_cached_memory(options_.device);
}

std::optional<PassGraphs::Kind> PassGraphs::kind_of(const Batch& batch, const StepContext& now,
                                                    const std::vector<bool>& active) const {
  const auto pass = task_.fixed_pass(now);
  if (!pass) return std::nullopt;
  Kind kind{.pass = *pass, .active = active, .tensors = {}};
  for (const auto& [name, tensor] : batch.tensors)
    kind.tensors.emplace_back(name, tensor.scalar_type(), tensor.sizes().vec());
  return kind;
}

const ComputedPass* PassGraphs::compute(const Batch& batch, const StepContext& now,
                                        const std::vector<bool>& active) {
  plain_ = {};
  if (is_stopped_) return nullptr;
  auto kind = kind_of(batch, now, active);
  if (!kind) {
    stop("the host takes part in each pass of this task");
    return nullptr;
  }
  if (kind_ != kind) {
    forget();
    kind_ = std::move(kind);
    plain_passes_ = 0;
    if (++kinds_ > most_kinds) stop("micro-batches are of many shapes");
  }
  if (is_stopped_ || plain_passes_++ < warm_ups) return nullptr;
  set_loss_scales();
  if (!recorded_ || !recorded_->is_checked) return compute_plainly(batch, now, active);
  if (!recorded_->weights_are_in_place()) {
    stop("weights do not stay where they are");
    return nullptr;
  }
  recorded_->fill(batch, now);
  recorded_->replay(now);
  return &recorded_->result;
}

const ComputedPass* PassGraphs::compute_plainly(const Batch& batch, const StepContext& now,
                                                const std::vector<bool>& active) {
  // Whatever becomes of the graph, this micro-batch has been computed.
  plain_ = pass(batch, now, active, /*keys=*/{});
  try {
    recorded_ ? check(batch, now) : record(batch, now);
  } catch (const std::exception& error) {
    const auto failure = std::current_exception();
    const auto plain = std::exchange(plain_, {});
    stop(is_out_of_memory(failure) ? "memory does not hold a graph beside what a plain pass takes"
                                   : message_of(error));
    plain_ = plain;
  }
  return &plain_;
}

ComputedPass PassGraphs::pass(const Batch& batch, const StepContext& now, const std::vector<bool>& active,
                              const at::Tensor& keys) {
  ComputedPass computed{.losses = losses_of(task_, batch, now, options_, keys), .gradients = {}};
  for (size_t i = 0; i < learners_.size(); ++i) {
    auto& gradients = computed.gradients.emplace_back();
    if (!active[i]) continue;
    at::Tensor loss = share_.of(computed.losses[i], now);
    if (scales_[i].defined()) loss = loss * scales_[i];
    gradients = torch::autograd::grad({loss}, parameters_[i], /*grad_outputs=*/{}, /*retain_graph=*/false,
                                      /*create_graph=*/false, /*allow_unused=*/true);
  }
  for (auto& loss : computed.losses) loss = loss.defined() ? loss.detach() : loss;
  return computed;
}

/// The pass that has just been computed plainly, so that all memory of its kind is known.
void PassGraphs::record(const Batch& batch, const StepContext& now) {
  auto recorded = std::make_unique<Recorded>(task_, batch, now, options_.device);
  recorded->fill(batch, now);
  release_cached_memory(options_.device);  // a graph has memory of its own
  const auto context = recorded->recording_context(now);
  recorded->graph = record_graph(options_.device, [&] {
    recorded->result = pass(recorded->batch, context, kind_->active, recorded->keys);
  });
  recorded_ = std::move(recorded);
}

/// Another batch than the one that was recorded: numbers of that one would show.
void PassGraphs::check(const Batch& batch, const StepContext& now) {
  const KeptBuffers after_the_plain_pass(networks_that_learn(learners_));
  recorded_->fill(batch, now);
  recorded_->replay(StepContext());
  after_the_plain_pass.restore();
  auto apart = distance(plain_.losses, recorded_->result.losses);
  for (size_t i = 0; i < learners_.size() && apart; ++i) {
    const auto of_learner = distance(plain_.gradients[i], recorded_->result.gradients[i]);
    apart = of_learner ? std::optional(std::max(*apart, *of_learner)) : std::nullopt;
  }
  if (!apart) return;  // not a number: the next micro-batch is compared
  if (*apart > most_distance(options_.precision))
    throw std::runtime_error("a replay has given other numbers than the same pass launched one by one");
  recorded_->is_checked = true;
}

void PassGraphs::set_loss_scales() {
  for (size_t i = 0; i < learners_.size(); ++i) {
    const double scale = learners_[i].parallel->loss_scale();
    if (!scales_[i].defined() || scales_there_[i] == scale) continue;
    scales_[i].fill_(scale);
    scales_there_[i] = scale;
  }
}

}  // namespace larmor
