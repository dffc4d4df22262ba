// What networks are chains of, and the chain itself.
#pragma once

#include <memory>
#include <vector>

#include <torch/nn/modules/container/modulelist.h>

namespace larmor::nn {

/// One step of a network, with weights of its own. Networks run it through nn::run_block.
class Block : public torch::nn::Module {
 public:
  /// input [N, C, D, H, W]
  virtual at::Tensor forward(const at::Tensor& input) = 0;
};

/// Blocks one after the other; their weights are named `blocks.0.…`, `blocks.1.…`, as in MONAI.
class Chain : public torch::nn::Module {
 public:
  Chain();
  void push_back(std::shared_ptr<Block> block);
  at::Tensor forward(at::Tensor input);
  const std::vector<std::shared_ptr<Block>>& blocks() const { return blocks_; }

 private:
  torch::nn::ModuleList list_;
  std::vector<std::shared_ptr<Block>> blocks_;
};

}  // namespace larmor::nn
