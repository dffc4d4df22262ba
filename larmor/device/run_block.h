// The one hook that every network's blocks run through. Recomputation of activations, the gathering of
// sharded weights and heartbeats are attached to it; a network mentions none of them.
#pragma once

#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/plan/kinds.h"

namespace at {
struct RecordFunction;
}

namespace torch::nn {
class Module;
}

namespace larmor {

/// A computation that may be run more than once: the same outputs for the same inputs.
using BlockFunction = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;

/// Holds the weights of blocks that are not all on this rank (ZeRO-3) and gathers them when they are needed.
class WeightKeeper {
 public:
  virtual ~WeightKeeper() = default;
  /// Whether it has those of `block`.
  virtual bool keeps(const torch::nn::Module& block) const = 0;
  /// `run`, with the weights there while it runs. May be called again in backward, on any thread.
  virtual BlockFunction with_weights(const torch::nn::Module& block, BlockFunction run) = 0;
  /// Called after a forward with gradient: brings the weights back for backward, between the arrival of the
  /// first gradient of `outputs` and that of the last gradient of `inputs`.
  virtual void expect_backward(const torch::nn::Module& block, const std::vector<at::Tensor>& inputs,
                               const std::vector<at::Tensor>& outputs) = 0;
};

/// Attaches `keeper` to the blocks of this thread until the scope ends. Several keepers may be attached: each
/// has its own blocks.
class WeightKeeperScope {
 public:
  explicit WeightKeeperScope(WeightKeeper& keeper);
  ~WeightKeeperScope();
  WeightKeeperScope(const WeightKeeperScope&) = delete;
  WeightKeeperScope& operator=(const WeightKeeperScope&) = delete;

 private:
  WeightKeeper* keeper_;
};

/// Which of this thread's activations are computed again in backward instead of kept.
Recompute recompute_here();

/// Sets recompute_here() until the scope ends.
class RecomputeScope {
 public:
  explicit RecomputeScope(Recompute recompute);
  ~RecomputeScope();
  RecomputeScope(const RecomputeScope&) = delete;
  RecomputeScope& operator=(const RecomputeScope&) = delete;

 private:
  Recompute outer_;
};

namespace block_hook {

/// Whether anything is attached to this thread's blocks that changes how a block runs.
bool is_watched();
/// A block has computed these: sends a heartbeat now, and another one when backward reaches them.
void ended(const std::vector<at::Tensor>& outputs);
void ended(const at::Tensor& output);
std::vector<at::Tensor> pass(const torch::nn::Module& block, const BlockFunction& run,
                             const std::vector<at::Tensor>& inputs);
/// The same for sections of several blocks: only `Recompute::all` is attached to it.
std::vector<at::Tensor> pass_section(const std::vector<const torch::nn::Module*>& blocks,
                                     const BlockFunction& run, const std::vector<at::Tensor>& inputs);

/// While a trace is recorded, a range in it under the name of the block's class.
class TraceRange {
 public:
  explicit TraceRange(const torch::nn::Module& block);
  ~TraceRange();
  TraceRange(const TraceRange&) = delete;
  TraceRange& operator=(const TraceRange&) = delete;

 private:
  std::unique_ptr<at::RecordFunction> range_;
};

/// The place of a tensor among a call's arguments; other arguments are kept as they are.
struct TensorPlace {
  size_t index;
};

template <class Argument>
auto keep(const Argument& argument, std::vector<at::Tensor>& tensors) {
  if constexpr (std::is_same_v<Argument, at::Tensor>) {
    tensors.push_back(argument);
    return TensorPlace{tensors.size() - 1};
  } else {
    return argument;
  }
}

template <class Kept>
const auto& give(const Kept& kept, const std::vector<at::Tensor>& tensors) {
  if constexpr (std::is_same_v<Kept, TensorPlace>) {
    return tensors[kept.index];
  } else {
    return kept;
  }
}

}  // namespace block_hook

namespace nn {

/// Runs `block(inputs…)`: block is a pointer-like handle to a module whose `forward` gives one tensor or a
/// vector of them, and depends on its arguments, its weights and the draw position alone.
template <class Block, class... Inputs>
auto run_block(Block block, Inputs&&... inputs) {
  using Output = std::decay_t<decltype(block->forward(std::forward<Inputs>(inputs)...))>;
  constexpr bool gives_one = std::is_same_v<Output, at::Tensor>;
  const block_hook::TraceRange range(*block);
  if (!block_hook::is_watched()) {
    Output output(block->forward(std::forward<Inputs>(inputs)...));
    block_hook::ended(output);
    return output;
  }
  std::vector<at::Tensor> tensors;
  const std::tuple kept{block_hook::keep<std::decay_t<Inputs>>(inputs, tensors)...};
  const BlockFunction run = [block,
                             kept](const std::vector<at::Tensor>& values) mutable -> std::vector<at::Tensor> {
    return std::apply(
        [&](const auto&... each) -> std::vector<at::Tensor> {
          if constexpr (gives_one) {
            return {block->forward(block_hook::give(each, values)...)};
          } else {
            return block->forward(block_hook::give(each, values)...);
          }
        },
        kept);
  };
  std::vector<at::Tensor> outputs = block_hook::pass(*block, run, tensors);
  if constexpr (gives_one) {
    return outputs.front();
  } else {
    return outputs;
  }
}

}  // namespace nn
}  // namespace larmor
