// CUDA C++ as plain C++: what a rewritten .cu source (tools/cuda_as_cpp.py) sees of the language. The headers
// beside this one stand in for libtorch's.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tests/cuda_on_cpu/grid.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__
#define __constant__ static const
#define __launch_bounds__(...)
#define __restrict__ __restrict
#define __align__(bytes) alignas(bytes)

using dim3 = ::cuda_on_cpu::Size;
using cudaStream_t = void*;

#define threadIdx (::cuda_on_cpu::place_here().thread)
#define blockIdx (::cuda_on_cpu::place_here().block)
#define blockDim (::cuda_on_cpu::place_here().threads)
#define gridDim (::cuda_on_cpu::place_here().blocks)
constexpr int warpSize = ::cuda_on_cpu::warp_lanes;

#include "intrinsics.h"
#include "vector_types.h"
