// A computation whose activations are not kept for backward but computed again when backward needs them.
// Source: Chen et al. 2016; the form is that of torch.utils.checkpoint(use_reentrant=False).
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/device/run_block.h"

namespace larmor {

/// Whether a gradient would go to one of them; undefined ones have none.
bool any_learns(const std::vector<at::Tensor>& tensors);

/// `run(inputs)`, of which only `inputs` are kept. The rerun sees what the first run saw: autocast, the draw
/// position, the hooks for sums over ranks and for heartbeats, what recomputes within, and which of
/// `parameters` learn; `buffers` are as they were when it ends. Numbers, gradients and hooks are those of a
/// plain run. The rerun ends within the operator that saves the last tensor: an autograd function that saves
/// its own output saves it detached, or that output and its node hold each other for ever. Throws Error
/// (unexpected) in backward when the rerun saves other tensors than the first run did.
std::vector<at::Tensor> run_recomputed(BlockFunction run, const std::vector<at::Tensor>& inputs,
                                       std::vector<at::Tensor> parameters, std::vector<at::Tensor> buffers);

}  // namespace larmor
