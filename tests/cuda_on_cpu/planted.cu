#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

#include "tests/cuda_on_cpu/planted.h"

namespace cuda_on_cpu::planted {
namespace {

constexpr int half_block = 32;

__global__ void halves(const float* numbers, float* sums, bool with_barriers) {
  __shared__ float shared[2 * half_block];
  const int index = static_cast<int>(threadIdx.x);
  shared[index] = numbers[blockIdx.x * blockDim.x + threadIdx.x];
  for (int half = half_block; half > 0; half /= 2) {
    if (with_barriers || half == half_block) __syncthreads();
    if (index < half) shared[index] += shared[index + half];
  }
  __syncthreads();
  if (index == 0) sums[blockIdx.x] = shared[0];
}

__global__ void shuffles(const float* numbers, float* sums) {
  extern __shared__ float of_warps[];
  const int index = static_cast<int>(threadIdx.x), lane = index % warpSize;
  float sum = numbers[blockIdx.x * blockDim.x + threadIdx.x];
  for (int distance = warpSize / 2; distance > 0; distance /= 2)
    sum += __shfl_down_sync(0xffffffffU, sum, distance);
  if (lane == 0) of_warps[index / warpSize] = sum;
  __syncthreads();
  if (index != 0) return;
  float all = 0;
  for (int warp = 0; warp < static_cast<int>(blockDim.x) / warpSize; ++warp) all += of_warps[warp];
  sums[blockIdx.x] = all;
}

__global__ void across_blocks(int* numbers) {
  numbers[blockIdx.x] = blockIdx.x == 0 ? 1 : numbers[blockIdx.x - 1] + 1;
}

__global__ void nobody() {
  if (threadIdx.x % 2 == 0) return;
  __syncthreads();
}

__global__ void counted(int* counts) {
  atomicAdd(counts, 1);
  const int all = __syncthreads_count(1);
  if (threadIdx.x == 0) atomicAdd(counts + 1, all);
  const unsigned even = __ballot_sync(0xffffffffU, threadIdx.x % 2 == 0);
  const int last = __shfl_sync(0xffffffffU, static_cast<int>(threadIdx.x), warpSize - 1);
  if (static_cast<int>(threadIdx.x) == last) atomicAdd(counts + 2, __popc(even));
}

__global__ void unwritten(double* number) {
  __shared__ double shared;
  number[blockIdx.x] = shared;
  __syncthreads();
  shared = 1;
}

__global__ void beyond(int* numbers, int count) { numbers[count] = 1; }

__global__ void beyond_shared(int index) {
  __shared__ int shared[8];
  int* const any = shared;
  any[index] = 1;
}

__global__ void nothing() {}

__global__ void packs(const float* from, float* to, int begin) {
  *reinterpret_cast<float4*>(to) = *reinterpret_cast<const float4*>(from + begin);
}

}  // namespace

void add_by_halves(const float* numbers, float* sums, int blocks, Barriers barriers) {
  halves<<<blocks, 2 * half_block>>>(numbers, sums, barriers == Barriers::all);
}

void add_by_shuffles(const float* numbers, float* sums, int blocks, int threads) {
  shuffles<<<blocks, threads, threads / warpSize * sizeof(float), at::cuda::getCurrentCUDAStream()>>>(numbers,
                                                                                                      sums);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

void read_across_blocks(int* numbers, int blocks) { across_blocks<<<blocks, 1>>>(numbers); }

void wait_for_nobody() { nobody<<<1, 4>>>(); }

void count_threads(int* counts, int blocks, int threads) { counted<<<blocks, threads>>>(counts); }

void read_unwritten(double* number) { unwritten<<<2, 1>>>(number); }

void write_beyond(int* numbers, int count) { beyond<<<1, 1>>>(numbers, count); }

void write_beyond_shared(int index) { beyond_shared<<<1, 1>>>(index); }

void launch_blocks_of(int64_t threads) { nothing<<<1, threads>>>(); }

void take_shared_bytes(int64_t bytes) { nothing<<<1, 1, static_cast<std::size_t>(bytes)>>>(); }

void copy_packs(const float* from, float* to, int begin) { packs<<<1, 1>>>(from, to, begin); }

}  // namespace cuda_on_cpu::planted
