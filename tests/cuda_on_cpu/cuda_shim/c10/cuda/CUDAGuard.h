#pragma once

#include <c10/core/Device.h>

namespace c10::cuda {
namespace {  // of a source alone: others of the program may have libtorch's

struct CUDAGuard {
  explicit CUDAGuard(c10::Device) {}
};
using OptionalCUDAGuard = CUDAGuard;

}  // namespace

}  // namespace c10::cuda
