// One thread makes one block of four words. Built without fused multiplications and additions
// (CMakeLists.txt), as the CPU's twin is: the same operations in the same order round to the same bits.
#include <algorithm>

#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

#include "larmor/kernels/draw/philox_cuda.h"
#include "larmor/kernels/draw/philox_order.h"

namespace larmor {
namespace {

namespace px = philox4x32;

constexpr int threads = 256;

/// What fills a row: element e of row n is made of one word, or normals of two.
struct Rows {
  const int64_t* streams;
  uint64_t key;
  int64_t rows, row_size;

  /// Groups are whole; what lies beyond the row's end is not stored.
  __host__ __device__ int64_t blocks_per_row() const {
    return (row_size + static_cast<int64_t>(px::group) - 1) / static_cast<int64_t>(px::group) *
           static_cast<int64_t>(px::lanes);
  }
};

/// Calls store(words of a block, where the row begins, where each word's element lies in it, how many are of
/// the row).
template <class Order, class Store>
__global__ void for_each_block(Rows rows, Order order, Store store) {
  const int64_t per_row = rows.blocks_per_row(), turns = order.turns(per_row);
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < rows.rows * turns;
       i += step) {
    const int64_t row = i / turns, counter = order.block_of(i % turns, per_row);
    if (counter >= per_row) continue;
    const int64_t first = px::first_element_of(counter), left = rows.row_size - first;
    if (left <= 0) continue;
    int64_t places[px::numbers_of_a_block];
    order.place(first, places);
    store(px::block_of(rows.key, static_cast<uint64_t>(rows.streams[row]), static_cast<uint64_t>(counter)),
          row * rows.row_size, places, left);
  }
}

struct StoreNormals {
  float* out;
  __device__ void operator()(const px::Block& block, int64_t row, const int64_t (&places)[4],
                             int64_t left) const {
    constexpr auto lanes = static_cast<int64_t>(px::lanes);
    const px::NormalPair early = px::to_normals(__fsqrt_rn(px::squared_radius(block.word_0)), block.word_1);
    const px::NormalPair late = px::to_normals(__fsqrt_rn(px::squared_radius(block.word_2)), block.word_3);
    const float values[4] = {early.first, early.second, late.first, late.second};
    for (int word = 0; word < 4; ++word) {
      if (word * lanes < left) out[row + places[word]] = values[word];
    }
  }
};

/// Elements that are made of one word each.
template <class Number, class Convert>
struct StoreWords {
  Number* out;
  Convert convert;
  __device__ void operator()(const px::Block& block, int64_t row, const int64_t (&places)[4],
                             int64_t left) const {
    constexpr auto lanes = static_cast<int64_t>(px::lanes);
    const uint32_t words[4] = {block.word_0, block.word_1, block.word_2, block.word_3};
    for (int word = 0; word < 4; ++word) {
      const int64_t index = row + places[word];
      if (word * lanes < left) out[index] = convert(words[word], index);
    }
  }
};

struct ToUniform {
  __device__ float operator()(uint32_t word, int64_t) const { return px::to_uniform(word); }
};

struct IsKept {
  uint64_t threshold;
  __device__ bool operator()(uint32_t word, int64_t) const { return word < threshold; }
};

template <class Number>
struct DropOut {
  const Number* input;
  uint64_t threshold;
  at::opmath_type<Number> scale;
  __device__ Number operator()(uint32_t word, int64_t index) const {
    return word < threshold ? static_cast<Number>(static_cast<at::opmath_type<Number>>(input[index]) * scale)
                            : static_cast<Number>(0);
  }
};

__global__ void make_integers(const int64_t* streams, uint64_t key, uint64_t limit, int64_t count,
                              int64_t* out) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const px::Block block = px::block_of(key, static_cast<uint64_t>(streams[i]), 0);
  const uint64_t word = (static_cast<uint64_t>(block.word_1) << 32) | block.word_0;
  out[i] = static_cast<int64_t>(px::scaled_below(word, limit));
}

int64_t grid_of(int64_t work) {
  constexpr int64_t most = int64_t{1} << 16;
  return std::clamp<int64_t>((work + threads - 1) / threads, 1, most);
}

template <class Store, class Order = px::NumberedOrder>
void run(const at::Tensor& out, const at::Tensor& streams, uint64_t key, Store store, Order order = {}) {
  if (out.numel() == 0) return;
  const c10::cuda::CUDAGuard guard(out.device());
  const Rows rows{.streams = streams.const_data_ptr<int64_t>(),
                  .key = key,
                  .rows = streams.numel(),
                  .row_size = out.numel() / streams.numel()};
  for_each_block<<<grid_of(rows.rows * order.turns(rows.blocks_per_row())), threads, 0,
                   at::cuda::getCurrentCUDAStream()>>>(rows, order, store);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

}  // namespace

void fill_on_gpu(PhiloxNumbers numbers, const at::Tensor& out, const at::Tensor& streams, uint64_t key,
                 uint64_t threshold) {
  if (numbers == PhiloxNumbers::normal) {
    run(out, streams, key, StoreNormals{out.mutable_data_ptr<float>()});
  } else if (numbers == PhiloxNumbers::uniform) {
    run(out, streams, key, StoreWords<float, ToUniform>{out.mutable_data_ptr<float>(), {}});
  } else {
    run(out, streams, key, StoreWords<bool, IsKept>{out.mutable_data_ptr<bool>(), {threshold}});
  }
}

void fill_integers_on_gpu(const at::Tensor& out, const at::Tensor& streams, uint64_t key, int64_t limit) {
  if (out.numel() == 0) return;
  const c10::cuda::CUDAGuard guard(out.device());
  make_integers<<<(out.numel() + threads - 1) / threads, threads, 0, at::cuda::getCurrentCUDAStream()>>>(
      streams.const_data_ptr<int64_t>(), key, static_cast<uint64_t>(limit), out.numel(),
      out.mutable_data_ptr<int64_t>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

void drop_out_on_gpu(const at::Tensor& out, const at::Tensor& input, const at::Tensor& streams, uint64_t key,
                     uint64_t threshold, double scale, int64_t channels_side_by_side) {
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, input.scalar_type(), "philox_dropout", [&] {
    const DropOut<scalar_t> convert{input.const_data_ptr<scalar_t>(), threshold,
                                    static_cast<at::opmath_type<scalar_t>>(scale)};
    const StoreWords<scalar_t, DropOut<scalar_t>> store{out.mutable_data_ptr<scalar_t>(), convert};
    if (channels_side_by_side > 1) {
      const int64_t voxels = input.numel() / (input.size(0) * channels_side_by_side);
      run(out, streams, key, store,
          px::ChannelsLastOrder{.channels = channels_side_by_side, .voxels = voxels});
    } else {
      run(out, streams, key, store);
    }
  });
}

}  // namespace larmor
