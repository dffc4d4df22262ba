#include "larmor/nn/blocks/block.h"

#include <utility>

namespace larmor::nn {

Chain::Chain() { list_ = register_module("blocks", torch::nn::ModuleList()); }

void Chain::push_back(std::shared_ptr<Block> block) {
  list_->push_back(block);
  blocks_.push_back(std::move(block));
}

at::Tensor Chain::forward(at::Tensor input) { return run_blocks(blocks_, std::move(input)); }

}  // namespace larmor::nn
