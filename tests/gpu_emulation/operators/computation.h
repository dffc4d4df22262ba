// What every operator of an emulated card ends in: its kernel for the CPU, over the same memory.
#pragma once

#include <vector>

#include <ATen/core/Generator.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/cuda/PhiloxCudaState.h>

#include "tests/gpu_emulation/operators/results.h"
#include "tests/gpu_emulation/runtime/runtime.h"

namespace emulated {

struct Call {
  c10::OperatorHandle op;
  std::vector<c10::IValue> arguments;
  c10::Device device;  // that it computes on
  bool in_float32 = false;
  std::vector<at::PhiloxCudaState> draws = {};  // of each parameter that is a generator
};

/// Moves the generators on that the call draws from, and notes where they stood.
void take_draws(Call& call);

/// Whether it is computed by its kernels for GPUs, which run on the CPU (tests/cuda_on_cpu): Larmor's own
/// operators, with EMULATED_KERNELS=own.
bool has_own_kernels(const c10::OperatorHandle& op);

/// Computes, or in hollow mode gives shapes. What the operator leaves on its stack.
/// Requires: the call's device is the current one.
torch::jit::Stack perform(const Call& call, Work& work, Results& results);

}  // namespace emulated
