// Emulated GPUs that compute nothing: operators give results of the right shape, over memory that is reserved
// and never touched, so that configurations far larger than this machine take a step. libtorch's allocator
// counts as ever. EMULATED_HOLLOW=1 asks for it.
#pragma once

#include "tests/gpu_emulation/operators/computation.h"

namespace emulated {

/// Whether a call is computed all the same: what it takes is small, and may decide what the program does.
bool is_computed(const c10::OperatorHandle& op, const std::vector<c10::IValue>& arguments);

/// Results of a call that hold nothing; small ones hold zeros.
torch::jit::Stack give_shapes(const Call& call, Work& work, Results& results);

}  // namespace emulated
