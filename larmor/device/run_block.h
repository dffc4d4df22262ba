// The one door that every network's blocks go through. Recomputation of activations and the gathering of
// sharded weights will hang on it; today it calls the block.
#pragma once

#include <utility>

#include <ATen/core/Tensor.h>

namespace larmor::nn {

/// Runs `block(inputs…)`: block is a pointer-like handle to a module with a `forward`.
template <class Block, class... Inputs>
auto run_block(const Block& block, Inputs&&... inputs) {
  return block->forward(std::forward<Inputs>(inputs)...);
}

}  // namespace larmor::nn
