#include "larmor/parallel/gathered_blocks.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/variable.h>

namespace larmor {
namespace {

bool needs_gradient(const at::Tensor& tensor) { return tensor.defined() && tensor.requires_grad(); }

}  // namespace

GatheredBlocks::GatheredBlocks(std::vector<const torch::nn::Module*> blocks, std::vector<ShardedUnit*> units,
                               std::function<void(size_t)> done)
    : units_(std::move(units)), done_(std::move(done)), progress_(units_.size()) {
  assert(blocks.size() == units_.size());
  for (size_t unit = 0; unit < blocks.size(); ++unit) place_[blocks[unit]] = unit;
}

void GatheredBlocks::bring(size_t unit, bool backward) {
  const at::NoGradGuard no_grad;
  units_[unit]->start_gather();
  units_[unit]->finish_gather();
  if (held_) return;
  // While this block computes, the next one's weights travel.
  if (!backward && unit + 1 < units_.size()) units_[unit + 1]->start_gather();
  if (backward && unit > 0) units_[unit - 1]->start_gather();
}

void GatheredBlocks::release(size_t unit) {
  if (!held_) units_[unit]->release();
}

BlockFunction GatheredBlocks::with_weights(const torch::nn::Module& block, BlockFunction run) {
  const size_t unit = place_.at(&block);
  return [this, unit, run = std::move(run)](const std::vector<at::Tensor>& inputs) {
    bring(unit, progress_[unit].open);
    struct ReleaseUnlessBackwardNeedsThem {
      GatheredBlocks& blocks;
      size_t unit;
      ~ReleaseUnlessBackwardNeedsThem() {
        if (!blocks.progress_[unit].open) blocks.release(unit);
      }
    } const at_the_end{*this, unit};
    return run(inputs);
  };
}

void GatheredBlocks::expect_backward(const torch::nn::Module& block, const std::vector<at::Tensor>& inputs,
                                     const std::vector<at::Tensor>& outputs) {
  // The whole network is here, and stays: a pass of one rank alone, from which nobody learns.
  if (held_) return;
  const size_t unit = place_.at(&block);
  // As it is now: a network frozen for this call alone learns nothing from it, whatever holds in backward.
  size_t learning = 0;
  for (size_t i = 0; i < units_[unit]->members(); ++i)
    learning += units_[unit]->parameter(i).requires_grad() ? 1 : 0;
  const auto inputs_left = std::make_shared<int>(0);
  for (const at::Tensor& input : inputs) *inputs_left += needs_gradient(input) ? 1 : 0;
  const bool waits_for_inputs = *inputs_left > 0;
  const auto begun = std::make_shared<bool>(false);
  for (const at::Tensor& output : outputs) {
    if (!needs_gradient(output)) continue;
    output.register_hook([this, unit, learning, waits_for_inputs, begun](const at::Tensor&) {
      begin(unit, waits_for_inputs && !*begun, learning);
      *begun = true;
    });
  }
  for (const at::Tensor& input : inputs) {
    if (!needs_gradient(input)) continue;
    input.register_hook([this, unit, inputs_left](const at::Tensor&) {
      if (--*inputs_left > 0) return;
      if (progress_[unit].inputs_open > 0) progress_[unit].inputs_open -= 1;
      close_when_complete(unit);
    });
  }
}

void GatheredBlocks::begin(size_t unit, bool waits_for_inputs, size_t learning) {
  Progress& progress = progress_[unit];
  if (!progress.open) progress = {.open = true};
  if (waits_for_inputs) progress.inputs_open += 1;
  progress.learning = std::max(progress.learning, learning);
  bring(unit, /*backward=*/true);
}

void GatheredBlocks::arrived(size_t unit) {
  progress_[unit].arrivals += 1;
  close_when_complete(unit);
}

void GatheredBlocks::close_when_complete(size_t unit) {
  const Progress& progress = progress_[unit];
  if (progress.open && progress.arrivals >= progress.learning && progress.inputs_open == 0) close(unit);
}

void GatheredBlocks::close(size_t unit) {
  const bool learned = progress_[unit].learning > 0;
  progress_[unit] = {};
  release(unit);
  if (learned) done_(unit);
}

void GatheredBlocks::end_backward() {
  for (size_t unit = units_.size(); unit > 0; --unit) {
    if (progress_[unit - 1].open) close(unit - 1);
  }
  if (held_) return;
  for (ShardedUnit* const unit : units_) {
    if (unit->is_gathering()) unit->finish_gather();
    unit->release();
  }
}

void GatheredBlocks::hold() {
  for (ShardedUnit* const unit : units_) unit->start_gather();
  for (ShardedUnit* const unit : units_) unit->finish_gather();
  held_ = true;
}

void GatheredBlocks::let_go() {
  held_ = false;
  for (ShardedUnit* const unit : units_) unit->release();
}

}  // namespace larmor
