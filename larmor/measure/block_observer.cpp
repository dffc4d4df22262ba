#include "larmor/measure/block_observer.h"

#include <algorithm>
#include <utility>

#include <torch/nn/module.h>

namespace larmor {

BlockFunction BlockObserver::with_weights(const torch::nn::Module& block, BlockFunction run) {
  if (std::find(passed_.begin(), passed_.end(), &block) == passed_.end()) passed_.push_back(&block);
  return [this, &block, run = std::move(run)](const std::vector<at::Tensor>& inputs) {
    inside_ = true;
    std::vector<at::Tensor> outputs = listen(block, run, inputs);
    inside_ = false;
    return outputs;
  };
}

}  // namespace larmor
