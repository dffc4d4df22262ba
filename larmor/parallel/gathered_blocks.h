// ZeRO-3: the weights of a block are whole while it runs, in forward and again in backward, and otherwise
// cut between ranks. Blocks come in the same order on all ranks.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "larmor/device/run_block.h"
#include "larmor/parallel/sharded_unit.h"

namespace larmor {

class GatheredBlocks final : public WeightKeeper {
 public:
  /// `units[i]` holds the weights of `blocks[i]`, in the order of a forward. `done(unit)` is called in
  /// backward when all gradients of a unit have arrived and its weights have been let go. Borrows units.
  GatheredBlocks(std::vector<const torch::nn::Module*> blocks, std::vector<ShardedUnit*> units,
                 std::function<void(size_t unit)> done);

  bool keeps(const torch::nn::Module& block) const override { return place_.contains(&block); }
  BlockFunction with_weights(const torch::nn::Module& block, BlockFunction run) override;
  void expect_backward(const torch::nn::Module& block, const std::vector<at::Tensor>& inputs,
                       const std::vector<at::Tensor>& outputs) override;

  /// A member's gradient has been taken in.
  void arrived(size_t unit);
  /// Called after backward: ends what it has left open, lets all weights go.
  void end_backward();
  /// Weights stay whole from here on. Collective.
  void hold();
  void let_go();

 private:
  /// The progress of one unit in the backward under way.
  struct Progress {
    bool open = false;    // between the first gradient of its outputs and the last of its inputs
    size_t arrivals = 0;  // of gradients of its members
    size_t learning = 0;  // members that learned when forward ran
    int inputs_open = 0;  // runs of the block whose inputs still wait for a gradient
  };

  void bring(size_t unit, bool backward);
  void release(size_t unit);
  void begin(size_t unit, bool waits_for_inputs, size_t learning);
  void close_when_complete(size_t unit);
  void close(size_t unit);

  std::vector<ShardedUnit*> units_;
  std::map<const torch::nn::Module*, size_t> place_;
  std::function<void(size_t)> done_;
  std::vector<Progress> progress_;
  bool held_ = false;
};

}  // namespace larmor
