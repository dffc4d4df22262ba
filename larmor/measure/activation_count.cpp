#include "larmor/measure/activation_count.h"

#include <algorithm>
#include <exception>
#include <set>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/device/draw_position.h"
#include "larmor/device/meta/saved_bytes.h"
#include "larmor/device/run_block.h"
#include "larmor/measure/block_observer.h"
#include "larmor/measure/meta_step.h"
#include "larmor/task/networks.h"

namespace larmor {
namespace {

using Tensors = std::vector<at::Tensor>;

void append(Tensors& all, const Tensors& more) { all.insert(all.end(), more.begin(), more.end()); }

int64_t bytes_of(const Tensors& tensors) {
  int64_t bytes = 0;
  for (const at::Tensor& tensor : tensors)
    bytes += tensor.defined() ? static_cast<int64_t>(tensor.nbytes()) : 0;
  return bytes;
}

/// Records what each block takes of memory when it runs through its hook.
class BlockCounter final : public BlockObserver {
 public:
  BlockCounter(const SavedBytes& held, Recompute recompute) : held_(held), recompute_(recompute) {}

  int64_t largest_block() const { return largest_block_; }
  int64_t rerun() const { return rerun_; }
  const std::vector<BlockCount>& blocks() const { return blocks_; }

 private:
  Tensors listen(const torch::nn::Module& block, const BlockFunction& run, const Tensors& inputs) override {
    Tensors there = block.parameters();
    int64_t largest = 0;
    for (const at::Tensor& parameter : there) largest = std::max(largest, bytes_of({parameter}));
    const bool learns =
        std::any_of(there.begin(), there.end(), [](const auto& one) { return one.requires_grad(); });
    if (learns) largest_block_ = std::max(largest_block_, bytes_of(there));
    int64_t rerun = 0;
    if (recompute_ != Recompute::none) {
      // Once more for the count alone: what is saved here reaches neither the held bytes nor the
      // recomputation.
      append(there, block.buffers());
      append(there, inputs);
      const SavedBytes within(there);
      const DrawScope again(draw_place());
      const Tensors outputs = run(inputs);
      rerun = rerun_of(inputs, within.bytes());
    }
    Tensors outputs = run(inputs);
    blocks_.push_back({.held = held_.bytes() + rerun, .output = bytes_of(outputs), .weight = largest});
    rerun_ = std::max(rerun_, rerun);
    return outputs;
  }

  // A rerun brings back what the block had saved, and where a section is run again, also the inputs of its
  // blocks up to that one. A section's own input is held from the start: that tells a new one.
  int64_t rerun_of(const Tensors& inputs, int64_t bytes) {
    const int64_t held = held_.bytes();
    const bool same_section = recompute_ == Recompute::all && held == held_before_;
    of_section_ = same_section ? of_section_ + bytes_of(inputs) : 0;
    held_before_ = held;
    return of_section_ + bytes;
  }

  const SavedBytes& held_;
  Recompute recompute_;
  int64_t largest_block_ = 0, rerun_ = 0, of_section_ = 0, held_before_ = -1;
  std::vector<BlockCount> blocks_;
};

/// Elements of parameters that none of the blocks holds.
int64_t count_outside(Task& task, const std::vector<const torch::nn::Module*>& blocks) {
  std::set<const c10::TensorImpl*> inside;
  for (const auto* const block : blocks) {
    for (const at::Tensor& parameter : block->parameters()) inside.insert(parameter.unsafeGetTensorImpl());
  }
  int64_t elements = 0;
  for (const Objective& objective : task.objectives()) {
    for (const at::Tensor& parameter : objective.network->parameters())
      elements += inside.contains(parameter.unsafeGetTensorImpl()) ? 0 : parameter.numel();
  }
  return elements;
}

struct Held {
  int64_t bytes = 0, rerun = 0, largest_block = 0, outside_blocks = 0;
  std::vector<BlockCount> blocks;
};

Held held_by(Task& task, const Batch& batch, Recompute recompute) {
  Tensors there;
  for (const torch::nn::Module* const network : networks_of(task)) {
    append(there, network->parameters());
    append(there, network->buffers());
  }
  for (const auto& entry : batch.tensors) there.push_back(entry.second);
  const SavedBytes saved(there);
  BlockCounter listener(saved, recompute);
  const WeightKeeperScope observed(listener);
  const Tensors results = results_on_meta(task, batch, recompute);
  return {.bytes = saved.bytes_with(results),
          .rerun = listener.rerun(),
          .largest_block = listener.largest_block(),
          .outside_blocks = count_outside(task, listener.passed()),
          .blocks = listener.blocks()};
}

}  // namespace

std::optional<ActivationCount> count_activations(Task& task, const Sample& example, Recompute recompute,
                                                 std::string* why_not) {
  prepare_on_meta(task);
  const auto held = [&](int64_t samples) { return held_by(task, meta_batch(example, samples), recompute); };
  try {
    const Held two = held(2), three = held(3);
    ActivationCount count{.per_sample = three.bytes - two.bytes,
                          .rerun_per_sample = (three.rerun + 2) / 3,
                          .largest_block = three.largest_block,
                          .parameters_outside_blocks = three.outside_blocks,
                          .blocks = three.blocks};
    for (BlockCount& block : count.blocks) {
      block.held /= 3;
      block.output /= 3;
    }
    count.fixed = two.bytes - 2 * count.per_sample;
    count.of_one = count.fixed + count.per_sample;
    try {
      count.of_one = held(1).bytes;
    } catch (const Error&) {
      // Batch norm refuses one sample that comes down to a single voxel.
    }
    return count;
  } catch (const std::exception& error) {
    if (why_not != nullptr) *why_not = brief_reason(error);
    return std::nullopt;
  }
}

}  // namespace larmor
