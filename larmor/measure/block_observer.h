// Observes which blocks run, without changing what they compute.
#pragma once

#include <vector>

#include "larmor/device/run_block.h"

namespace larmor {

/// Sees outermost blocks: those within another one are part of it.
class BlockObserver : public WeightKeeper {
 public:
  bool keeps(const torch::nn::Module& /*block*/) const final { return !inside_; }
  BlockFunction with_weights(const torch::nn::Module& block, BlockFunction run) final;
  void expect_backward(const torch::nn::Module& /*block*/, const std::vector<at::Tensor>& /*inputs*/,
                       const std::vector<at::Tensor>& /*outputs*/) final {}

  /// Each at its first pass.
  const std::vector<const torch::nn::Module*>& passed() const { return passed_; }

 protected:
  /// What a pass does.
  virtual std::vector<at::Tensor> listen(const torch::nn::Module& /*block*/, const BlockFunction& run,
                                         const std::vector<at::Tensor>& inputs) {
    return run(inputs);
  }

 private:
  bool inside_ = false;
  std::vector<const torch::nn::Module*> passed_;
};

}  // namespace larmor
