#include "larmor/device/run_block.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <torch/nn/module.h>

#include "larmor/device/heartbeat.h"
#include "larmor/device/recompute.h"
#include "larmor/device/tensors/weight_keepers.h"

namespace larmor {
namespace {

thread_local std::vector<WeightKeeper*> known_keepers;
thread_local Recompute what_recomputes = Recompute::none;

WeightKeeper* keeper_of(const torch::nn::Module& block) {
  for (WeightKeeper* const keeper : known_keepers) {
    if (keeper->keeps(block)) return keeper;
  }
  return nullptr;
}

/// Backward comes to an output when it is through with all that was made of it.
void show_when_backward_comes(Heartbeat& shown, const at::Tensor& output) {
  // A hook on a leaf would stay there.
  if (!output.defined() || !output.requires_grad() || output.is_leaf()) return;
  output.register_hook([&shown](const at::Tensor&) { shown.show(); });
}

}  // namespace

WeightKeeperScope::WeightKeeperScope(WeightKeeper& keeper) : keeper_(&keeper) {
  known_keepers.push_back(keeper_);
}

// Not every scope ends before those that were there earlier, and one keeper may have several.
WeightKeeperScope::~WeightKeeperScope() {
  const auto last = std::find(known_keepers.rbegin(), known_keepers.rend(), keeper_);
  if (last != known_keepers.rend()) known_keepers.erase(std::next(last).base());
}

std::vector<WeightKeeper*> weight_keepers() { return known_keepers; }

WeightKeepersAgain::WeightKeepersAgain(std::vector<WeightKeeper*> keepers)
    : outer_(std::exchange(known_keepers, std::move(keepers))) {}

WeightKeepersAgain::~WeightKeepersAgain() { known_keepers = std::move(outer_); }

Recompute recompute_here() { return what_recomputes; }

RecomputeScope::RecomputeScope(Recompute recompute) : outer_(std::exchange(what_recomputes, recompute)) {}

RecomputeScope::~RecomputeScope() { what_recomputes = outer_; }

namespace block_hook {

TraceRange::TraceRange(const torch::nn::Module& block) {
  auto recorders = at::getStepCallbacksUnlessEmpty(at::RecordScope::USER_SCOPE);
  if (!recorders) return;
  range_ = std::make_unique<at::RecordFunction>(std::move(*recorders));
  range_->before(block.name());
}

TraceRange::~TraceRange() = default;

bool is_watched() { return what_recomputes != Recompute::none || !known_keepers.empty(); }

void ended(const std::vector<at::Tensor>& outputs) {
  Heartbeat* const shown = heartbeat();
  if (shown == nullptr) return;
  shown->show();
  if (!at::GradMode::is_enabled()) return;
  for (const at::Tensor& output : outputs) show_when_backward_comes(*shown, output);
}

void ended(const at::Tensor& output) {
  Heartbeat* const shown = heartbeat();
  if (shown == nullptr) return;
  shown->show();
  if (at::GradMode::is_enabled()) show_when_backward_comes(*shown, output);
}

std::vector<at::Tensor> pass(const torch::nn::Module& block, const BlockFunction& run,
                             const std::vector<at::Tensor>& inputs) {
  WeightKeeper* const keeper = keeper_of(block);
  const BlockFunction whole = keeper != nullptr ? keeper->with_weights(block, run) : run;
  const auto run_it = [&] {
    if (what_recomputes == Recompute::none) return whole(inputs);
    // A block within a block saves nothing more, unless everything is to be computed again.
    const RecomputeScope within(what_recomputes == Recompute::all ? Recompute::all : Recompute::none);
    return run_recomputed(whole, inputs, block.parameters(), block.buffers());
  };
  std::vector<at::Tensor> outputs = run_it();
  if (keeper != nullptr && at::GradMode::is_enabled() && any_learns(outputs)) {
    keeper->expect_backward(block, inputs, outputs);
  }
  ended(outputs);
  return outputs;
}

std::vector<at::Tensor> pass_section(const std::vector<const torch::nn::Module*>& blocks,
                                     const BlockFunction& run, const std::vector<at::Tensor>& inputs) {
  if (what_recomputes != Recompute::all) return run(inputs);
  std::vector<at::Tensor> parameters, buffers;
  for (const torch::nn::Module* const block : blocks) {
    for (const at::Tensor& parameter : block->parameters()) parameters.push_back(parameter);
    for (const at::Tensor& buffer : block->buffers()) buffers.push_back(buffer);
  }
  return run_recomputed(run, inputs, std::move(parameters), std::move(buffers));
}

}  // namespace block_hook
}  // namespace larmor
