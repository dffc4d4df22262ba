// Emulated GPUs that compute nothing: operators give results of the right shape, over memory that is reserved
// and never touched, so that configurations far larger than this machine take a step. libtorch's allocator
// counts as ever. EMULATED_HOLLOW=1 asks for it.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/Device.h>

#include "tests/gpu_emulation/runtime/runtime.h"

namespace emulated {

/// Whether a call is computed all the same: what it takes is small, and may decide what the program does.
bool is_computed(const c10::OperatorHandle& op, const std::vector<c10::IValue>& arguments);

/// Replaces a call's arguments on the stack by results that hold nothing; small ones hold zeros.
void give_shapes(const c10::OperatorHandle& op, torch::jit::Stack* stack, c10::Device device, Work& work);

}  // namespace emulated
