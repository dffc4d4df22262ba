#include "larmor/nn/block.h"

#include <utility>

#include "larmor/device/run_block.h"

namespace larmor::nn {

Chain::Chain() { list_ = register_module("blocks", torch::nn::ModuleList()); }

void Chain::push_back(std::shared_ptr<Block> block) {
  list_->push_back(block);
  blocks_.push_back(std::move(block));
}

at::Tensor Chain::forward(at::Tensor input) {
  // The previous value is released as the next one arrives: without a graph a chain holds two at most.
  for (const auto& block : blocks_) input = run_block(block, std::as_const(input));
  return input;
}

}  // namespace larmor::nn
