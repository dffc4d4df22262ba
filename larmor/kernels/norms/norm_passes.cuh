// What group norms and batch norms have in common on a GPU: the moments of each channel, what a thread needs to know of
// its channels, and how both are launched.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include <ATen/ops/empty.h>

#include "larmor/kernels/norms/norm_packs.cuh"

namespace larmor::norm_packs {

struct Moments {
  double count, mean, squares;
};

struct AddMoments {
  __device__ Moments operator()(const Moments& a, const Moments& b) const {
    const double count = a.count + b.count, distance = b.mean - a.mean;
    if (count == 0) return a;
    return {count, a.mean + distance * (b.count / count),
            a.squares + b.squares + distance * distance * (a.count * b.count / count)};
  }
};

/// partial [samples, channels, pieces]. A block measures each channel from its first element there, so that a
/// large mean costs no digits.
template <class Element, class Number, int size, int lanes>
__global__ void measure(Tiles tiles, const Element* __restrict__ input, Moments* __restrict__ partial) {
  const ThreadPart<lanes> part(tiles);
  Number origin[lanes], sum[lanes] = {}, squares[lanes] = {};
  if (part.count > 0) {
#pragma unroll
    for (int lane = 0; lane < lanes; ++lane)
      origin[lane] = static_cast<Number>(input[part.block_begin + lane]);
  }
  for_packs(
      part, [&](int64_t place) { return pack_at<Element, size>(input, place); },
      [&](int64_t, const Pack<Element, size>& pack) {
#pragma unroll
        for (int i = 0; i < size; ++i) {
          const Number distance = static_cast<Number>(pack.of[i]) - origin[i % lanes];
          sum[i % lanes] += distance;
          squares[i % lanes] = fma(distance, distance, squares[i % lanes]);
        }
      });
  const int64_t begin = blockIdx.x * tiles.piece_packs;
  const auto elements =
      static_cast<double>((min(begin + tiles.piece_packs, tiles.packs) - begin) * (size / lanes));
  add_rows<lanes>(tiles, sum, squares, [&](int of_block, const Sums& sums) {
    const int64_t channel = part.first_column * lanes + of_block;
    if (channel >= tiles.channels) return;
    const int64_t first =
        part.sample_begin + channel / lanes * tiles.column_step + channel % lanes + begin * tiles.pack_step;
    const double beside = sums.plain / elements;
    partial[(blockIdx.z * tiles.channels + channel) * tiles.pieces + blockIdx.x] = {
        elements, static_cast<double>(static_cast<Number>(input[first])) + beside,
        fmax(sums.other - sums.plain * beside, 0.0)};
  });
}

/// scale * (x - centre) + shift; the gradient adds slope * (x - centre) + offset.
template <class Number>
struct Channel {
  Number centre, scale, shift, slope, offset;
};

/// The numbers of a thread's channels, side by side.
template <class Number, int lanes>
struct Channels {
  __device__ Channels(const Channel<Number>* __restrict__ channels, const ThreadPart<lanes>& part) {
    if (part.count == 0) return;
#pragma unroll
    for (int lane = 0; lane < lanes; ++lane) of[lane] = channels[part.run + lane];
  }
  Channel<Number> of[lanes];
};

/// Packs of an input and of what is read with it.
template <class Element, int size>
struct TwoPacks {
  Pack<Element, size> input, beside;
};

template <class Element, int size>
__device__ TwoPacks<Element, size> packs_at(const Element* __restrict__ input, const Element* __restrict__ beside,
                                            int64_t place) {
  return {pack_at<Element, size>(input, place), pack_at<Element, size>(beside, place)};
}

/// One number a channel, as the tensor has them: float32 or float64; `absent` where there is no tensor.
struct Numbers {
  explicit Numbers(const at::Tensor& tensor, double instead = 0)
      : values(tensor.defined() ? tensor.const_data_ptr() : nullptr),
        absent(instead),
        is_wide(tensor.defined() && tensor.scalar_type() == at::kDouble) {}
  __device__ double operator[](int64_t i) const {
    if (values == nullptr) return absent;
    return is_wide ? static_cast<const double*>(values)[i]
                   : static_cast<double>(static_cast<const float*>(values)[i]);
  }

  const void* values;
  double absent;
  bool is_wide;
};

/// Samples beyond a grid's limit of 65535 do not occur; channels come in tiles.
inline dim3 grid_of(const Tiles& tiles) {
  return {static_cast<unsigned>(tiles.pieces),
          static_cast<unsigned>((tiles.columns + tiles.block_columns - 1) / tiles.block_columns),
          static_cast<unsigned>(tiles.samples)};
}

inline unsigned blocks_for(int64_t count) { return static_cast<unsigned>((count + threads - 1) / threads); }

template <class Value>
at::Tensor memory_for(int64_t count, const at::Tensor& like) {
  return at::empty({count * static_cast<int64_t>(sizeof(Value))}, like.options().dtype(at::kByte));
}

template <class Value>
Value* values_in(const at::Tensor& memory) {
  return static_cast<Value*>(memory.mutable_data_ptr());
}

/// Calls run(size, lanes) with what suits tensors whose rows of memory have `row` elements: packs fill the rows, and
/// each begins at a multiple of its bytes.
template <class Element, class Run>
void in_packs(int64_t row, bool channels_last, std::initializer_list<at::Tensor> elements, Run run) {
  constexpr int size = bytes_of_a_pack / static_cast<int>(sizeof(Element));
  using One = std::integral_constant<int, 1>;
  using All = std::integral_constant<int, size>;
  const bool fits = row % size == 0 && std::ranges::all_of(elements, [](const at::Tensor& tensor) {
                      return !tensor.defined() ||
                             reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr()) % bytes_of_a_pack == 0;
                    });
  if (!fits) return run(One(), One());
  if (channels_last) return run(All(), All());
  run(All(), One());
}

}  // namespace larmor::norm_packs
