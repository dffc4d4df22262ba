// What networks are chains of, and the chain itself.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include <torch/nn/modules/container/modulelist.h>

#include "larmor/device/run_block.h"

namespace larmor::nn {

/// One step of a network, with weights of its own. Networks run it through nn::run_block.
class Block : public torch::nn::Module {
 public:
  /// input [N, C, D, H, W]
  virtual at::Tensor forward(const at::Tensor& input) = 0;
};

template <class SomeBlock>
using BlockList = std::vector<std::shared_ptr<SomeBlock>>;

template <class SomeBlock, class... Shared>
at::Tensor run_each(const BlockList<SomeBlock>& blocks, at::Tensor value, const Shared&... shared) {
  // The previous value is released as the next one arrives: without a graph a chain holds two at most.
  for (const auto& block : blocks) value = run_block(block, std::as_const(value), shared...);
  return value;
}

/// Runs blocks one after the other: each turns the value into the next one, and all of them take the same
/// further arguments `shared` (a time embedding, a context, a mask), tensors or not; gradients of all blocks
/// add up in the tensors among them. Where everything is to be computed again, the blocks form about as many
/// sections as each has blocks: what a chain keeps then grows as the square root of its length.
/// Source: Chen et al. 2016.
template <class SomeBlock, class... Shared>
at::Tensor run_blocks(const BlockList<SomeBlock>& blocks, at::Tensor value, const Shared&... shared) {
  if (recompute_here() != Recompute::all) return run_each(blocks, std::move(value), shared...);
  std::vector<at::Tensor> inputs{std::move(value)};
  const std::tuple kept{block_hook::keep<Shared>(shared, inputs)...};
  const auto length = static_cast<size_t>(std::ceil(std::sqrt(static_cast<double>(blocks.size()))));
  for (size_t first = 0; first < blocks.size(); first += length) {
    const size_t end = std::min(first + length, blocks.size());
    BlockList<SomeBlock> section;
    std::vector<const torch::nn::Module*> modules;
    for (size_t i = first; i < end; ++i) {
      section.push_back(blocks[i]);
      modules.push_back(blocks[i].get());
    }
    const auto run = [section, kept](const std::vector<at::Tensor>& tensors) {
      return std::apply(
          [&](const auto&... each) {
            return std::vector<at::Tensor>{
                run_each(section, tensors.front(), block_hook::give(each, tensors)...)};
          },
          kept);
    };
    inputs.front() = block_hook::pass_section(modules, run, inputs).front();
  }
  return inputs.front();
}

/// Blocks one after the other; their weights are named `blocks.0.…`, `blocks.1.…`, as in MONAI.
class Chain : public torch::nn::Module {
 public:
  Chain();
  void push_back(std::shared_ptr<Block> block);
  at::Tensor forward(at::Tensor input);
  const BlockList<Block>& blocks() const { return blocks_; }

 private:
  torch::nn::ModuleList list_;
  BlockList<Block> blocks_;
};

}  // namespace larmor::nn
