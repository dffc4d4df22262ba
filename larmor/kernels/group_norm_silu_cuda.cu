// A block reads a stretch of voxels of a few channels, one channel a column of threads: so many blocks share
// a channel that the whole device works on one sample. What they found is brought together by small kernels
// in one order: no atomics, the same bits in every run.
#include <algorithm>

#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

#include "larmor/kernels/group_norm_silu_cuda.h"

namespace larmor {
namespace {

constexpr int threads = 256, channels_of_a_block = 32, merging_threads = 128;
constexpr int64_t least_voxels_of_a_thread = 16, most_pieces = 256;

/// A tensor [samples, channels, voxels] in either layout, cut into pieces of voxels.
struct Tiles {
  int64_t samples, channels, voxels, groups, piece_voxels, pieces;
  bool channels_last;
  int columns, rows;  // of a block's threads: channels, and voxels at a time

  __host__ __device__ int64_t group_channels() const { return channels / groups; }
  __device__ int64_t place(int64_t sample, int64_t channel, int64_t voxel) const {
    return channels_last ? (sample * voxels + voxel) * channels + channel
                         : (sample * channels + channel) * voxels + voxel;
  }
};

/// What a thread has of its block: a channel of a sample, and every `rows`th voxel of a stretch.
struct ThreadPart {
  __device__ explicit ThreadPart(const Tiles& tiles)
      : column(static_cast<int>(threadIdx.x) % tiles.columns),
        row(static_cast<int>(threadIdx.x) / tiles.columns),
        sample(blockIdx.z),
        piece(blockIdx.x),
        channel(static_cast<int64_t>(blockIdx.y) * tiles.columns + column),
        first(piece * tiles.piece_voxels + row),
        end(channel < tiles.channels ? min((piece + 1) * tiles.piece_voxels, tiles.voxels) : 0) {}

  __device__ int64_t run(const Tiles& tiles) const { return sample * tiles.channels + channel; }

  int column, row;
  int64_t sample, piece, channel, first, end;
};

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

struct Sums {
  double plain, other;
};

struct AddSums {
  __device__ Sums operator()(const Sums& a, const Sums& b) const {
    return {a.plain + b.plain, a.other + b.other};
  }
};

/// Brings the values of threads index, index + step, index + 2 * step… together, halves onto halves. The
/// result is that of the first `step` threads. Requires: count is a power of two, and all threads come here.
template <class Value, class Add>
__device__ Value join(Value* shared, Value own, int step, int count, Add add) {
  const int index = static_cast<int>(threadIdx.x);
  shared[index] = own;
  for (int half = count / 2; half > 0; half /= 2) {
    __syncthreads();
    if (index < half * step) shared[index] = add(shared[index], shared[index + half * step]);
  }
  __syncthreads();
  return shared[index % step];
}

/// partial [samples, channels, pieces]. Each thread measures from its own first element, so that a large mean
/// costs no digits.
template <class Element, class Number>
__global__ void measure(Tiles tiles, const Element* input, Moments* partial) {
  __shared__ Moments shared[threads];
  const ThreadPart part(tiles);
  Moments own{};
  if (part.first < part.end) {
    const auto origin = static_cast<Number>(input[tiles.place(part.sample, part.channel, part.first)]);
    Number sum = 0, squares = 0;
    int64_t count = 0;
#pragma unroll 4
    for (int64_t voxel = part.first; voxel < part.end; voxel += tiles.rows, ++count) {
      const Number distance =
          static_cast<Number>(input[tiles.place(part.sample, part.channel, voxel)]) - origin;
      sum += distance;
      squares += distance * distance;
    }
    const auto all = static_cast<double>(count), beside = static_cast<double>(sum) / all;
    own = {all, static_cast<double>(origin) + beside,
           fmax(static_cast<double>(squares) - static_cast<double>(sum) * beside, 0.0)};
  }
  const Moments all = join(shared, own, tiles.columns, tiles.rows, AddMoments());
  if (part.row == 0 && part.channel < tiles.channels)
    partial[part.run(tiles) * tiles.pieces + part.piece] = all;
}

/// One block a group of a sample.
__global__ void merge_moments(Tiles tiles, const Moments* partial, double epsilon, double* mean,
                              double* rstd) {
  __shared__ Moments shared[merging_threads];
  const int64_t group = blockIdx.x, count = tiles.group_channels() * tiles.pieces;
  Moments own{};
  for (int64_t i = threadIdx.x; i < count; i += merging_threads)
    own = AddMoments()(own, partial[group * count + i]);
  const Moments all = join(shared, own, 1, merging_threads, AddMoments());
  if (threadIdx.x != 0) return;
  mean[group] = all.mean;
  rstd[group] = 1 / sqrt(all.squares / fmax(all.count, 1.0) + epsilon);
}

/// scale * (x - centre) + shift; the gradient adds slope * (x - centre) + offset.
template <class Number>
struct Channel {
  Number centre, scale, shift, slope, offset;
};

struct Statistics {
  const double *weight, *bias, *mean, *rstd;  // weight and bias may be null

  __device__ double weight_of(int64_t channel) const { return weight == nullptr ? 1 : weight[channel]; }
  template <class Number>
  __device__ double lacking(int64_t group) const {  // what the rounded mean lacks
    return mean[group] - static_cast<double>(static_cast<Number>(mean[group]));
  }
};

template <class Number>
__global__ void make_channels(Tiles tiles, Statistics statistics, Channel<Number>* channels) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= tiles.samples * tiles.channels) return;
  const int64_t channel = i % tiles.channels, group = i / tiles.group_channels();
  const double scale = statistics.rstd[group] * statistics.weight_of(channel);
  const double bias = statistics.bias == nullptr ? 0 : statistics.bias[channel];
  channels[i] = {static_cast<Number>(statistics.mean[group]), static_cast<Number>(scale),
                 static_cast<Number>(bias - statistics.lacking<Number>(group) * scale), 0, 0};
}

template <bool activated, class Element, class Number>
__global__ void normalise(Tiles tiles, const Channel<Number>* channels, const Element* input,
                          Element* output) {
  const ThreadPart part(tiles);
  if (part.first >= part.end) return;
  const Channel<Number> by = channels[part.run(tiles)];
#pragma unroll 4
  for (int64_t voxel = part.first; voxel < part.end; voxel += tiles.rows) {
    const int64_t place = tiles.place(part.sample, part.channel, voxel);
    const Number value = (static_cast<Number>(input[place]) - by.centre) * by.scale + by.shift;
    output[place] = static_cast<Element>(activated ? value / (1 + exp(-value)) : value);
  }
}

/// The gradient of what SiLU is taken of.
template <bool activated, class Number>
__device__ Number before_silu(const Channel<Number>& by, Number distance, Number gradient) {
  if (!activated) return gradient;
  const Number value = distance * by.scale + by.shift, part = 1 / (1 + exp(-value));
  return gradient * part * (1 + value * (1 - part));
}

template <bool activated, class Element, class Number>
__global__ void sum_gradients(Tiles tiles, const Channel<Number>* channels, const Element* input,
                              const Element* gradient, Sums* partial) {
  __shared__ Sums shared[threads];
  const ThreadPart part(tiles);
  Number plain = 0, centred = 0;
  if (part.first < part.end) {
    const Channel<Number> by = channels[part.run(tiles)];
#pragma unroll 4
    for (int64_t voxel = part.first; voxel < part.end; voxel += tiles.rows) {
      const int64_t place = tiles.place(part.sample, part.channel, voxel);
      const Number distance = static_cast<Number>(input[place]) - by.centre;
      const Number below = before_silu<activated>(by, distance, static_cast<Number>(gradient[place]));
      plain += below;
      centred += below * distance;
    }
  }
  const Sums all = join(shared, Sums{static_cast<double>(plain), static_cast<double>(centred)}, tiles.columns,
                        tiles.rows, AddSums());
  if (part.row == 0 && part.channel < tiles.channels)
    partial[part.run(tiles) * tiles.pieces + part.piece] = all;
}

/// One block a group of a sample; affine [samples, channels]: its gradients of weight and bias.
template <class Number>
__global__ void merge_gradients(Tiles tiles, Statistics statistics, const Sums* partial,
                                Channel<Number>* channels, Sums* affine) {
  __shared__ Sums shared[merging_threads];
  const int64_t group = blockIdx.x, begin = group * tiles.group_channels(),
                end = begin + tiles.group_channels();
  const double lacking = statistics.lacking<Number>(group), rstd = statistics.rstd[group];
  Sums own{};
  for (int64_t i = begin + threadIdx.x; i < end; i += merging_threads) {
    Sums sums{};
    for (int64_t piece = 0; piece < tiles.pieces; ++piece)
      sums = AddSums()(sums, partial[i * tiles.pieces + piece]);
    affine[i] = {rstd * (sums.other - lacking * sums.plain), sums.plain};
    const double weight = statistics.weight_of(i % tiles.channels);
    own = AddSums()(own, {weight * sums.plain, weight * affine[i].plain});
  }
  const Sums all = join(shared, own, 1, merging_threads, AddSums());
  const auto elements = static_cast<double>(tiles.group_channels() * tiles.voxels);
  const double slope = -rstd * rstd * all.other / elements;
  const double offset = -rstd * all.plain / elements - slope * lacking;
  for (int64_t i = begin + threadIdx.x; i < end; i += merging_threads) {
    channels[i].slope = static_cast<Number>(slope);
    channels[i].offset = static_cast<Number>(offset);
  }
}

__global__ void add_samples(Tiles tiles, const Sums* affine, double* of_weight, double* of_bias) {
  const int64_t channel = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (channel >= tiles.channels) return;
  Sums sums{};
  for (int64_t sample = 0; sample < tiles.samples; ++sample)
    sums = AddSums()(sums, affine[sample * tiles.channels + channel]);
  of_weight[channel] = sums.plain;
  of_bias[channel] = sums.other;
}

template <bool activated, class Element, class Number>
__global__ void differentiate(Tiles tiles, const Channel<Number>* channels, const Element* input,
                              const Element* gradient, Element* of_input) {
  const ThreadPart part(tiles);
  if (part.first >= part.end) return;
  const Channel<Number> by = channels[part.run(tiles)];
#pragma unroll 4
  for (int64_t voxel = part.first; voxel < part.end; voxel += tiles.rows) {
    const int64_t place = tiles.place(part.sample, part.channel, voxel);
    const Number distance = static_cast<Number>(input[place]) - by.centre;
    const Number below = before_silu<activated>(by, distance, static_cast<Number>(gradient[place]));
    of_input[place] = static_cast<Element>(by.scale * below + (by.slope * distance + by.offset));
  }
}

Tiles tiles_of(const GroupNormOnGpu& norm) {
  Tiles tiles{.samples = norm.input.size(0),
              .channels = norm.input.size(1),
              .voxels = norm.input.numel() / std::max<int64_t>(norm.input.size(0) * norm.input.size(1), 1),
              .groups = norm.groups,
              .piece_voxels = 0,
              .pieces = 0,
              .channels_last = norm.channels_last,
              .columns = norm.channels_last ? channels_of_a_block : 1,
              .rows = norm.channels_last ? threads / channels_of_a_block : threads};
  const int64_t least = tiles.rows * least_voxels_of_a_thread;
  tiles.pieces = std::clamp<int64_t>((tiles.voxels + least - 1) / least, 1, most_pieces);
  tiles.piece_voxels = (tiles.voxels + tiles.pieces - 1) / tiles.pieces;
  return tiles;
}

/// Samples beyond a grid's limit of 65535 do not occur; channels come in tiles.
dim3 grid_of(const Tiles& tiles) {
  return {static_cast<unsigned>(tiles.pieces),
          static_cast<unsigned>((tiles.channels + tiles.columns - 1) / tiles.columns),
          static_cast<unsigned>(tiles.samples)};
}

unsigned blocks_for(int64_t count) { return static_cast<unsigned>((count + threads - 1) / threads); }

Statistics statistics_of(const GroupNormOnGpu& norm) {
  const auto numbers = [](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.const_data_ptr<double>() : nullptr;
  };
  return {numbers(norm.weight), numbers(norm.bias), numbers(norm.mean), numbers(norm.rstd)};
}

template <class Value>
at::Tensor memory_for(int64_t count, const at::Tensor& like) {
  return at::empty({count * static_cast<int64_t>(sizeof(Value))}, like.options().dtype(at::kByte));
}

template <class Value>
Value* values_in(const at::Tensor& memory) {
  return static_cast<Value*>(memory.mutable_data_ptr());
}

template <class Element>
void forward(const GroupNormOnGpu& norm, double epsilon, const at::Tensor& output) {
  using Number = at::opmath_type<Element>;
  const auto stream = at::cuda::getCurrentCUDAStream();
  const Tiles tiles = tiles_of(norm);
  const int64_t runs = tiles.samples * tiles.channels;
  const auto partial = memory_for<Moments>(runs * tiles.pieces, norm.input);
  const auto channels = memory_for<Channel<Number>>(runs, norm.input);
  const auto* const input = norm.input.const_data_ptr<Element>();
  auto* const of_channels = values_in<Channel<Number>>(channels);
  measure<Element, Number><<<grid_of(tiles), threads, 0, stream>>>(tiles, input, values_in<Moments>(partial));
  merge_moments<<<static_cast<unsigned>(tiles.samples * tiles.groups), merging_threads, 0, stream>>>(
      tiles, values_in<Moments>(partial), epsilon, norm.mean.mutable_data_ptr<double>(),
      norm.rstd.mutable_data_ptr<double>());
  make_channels<<<blocks_for(runs), threads, 0, stream>>>(tiles, statistics_of(norm), of_channels);
  (norm.activated ? normalise<true, Element, Number>
                  : normalise<false, Element, Number>)<<<grid_of(tiles), threads, 0, stream>>>(
      tiles, of_channels, input, output.mutable_data_ptr<Element>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

template <class Element>
void backward(const GroupNormOnGpu& norm, const at::Tensor& gradients, const at::Tensor& of_input,
              const at::Tensor& of_weight, const at::Tensor& of_bias) {
  using Number = at::opmath_type<Element>;
  const auto stream = at::cuda::getCurrentCUDAStream();
  const Tiles tiles = tiles_of(norm);
  const int64_t runs = tiles.samples * tiles.channels;
  const auto partial = memory_for<Sums>(runs * tiles.pieces, norm.input);
  const auto affine = memory_for<Sums>(runs, norm.input);
  const auto channels = memory_for<Channel<Number>>(runs, norm.input);
  const auto* const input = norm.input.const_data_ptr<Element>();
  const auto* const gradient = gradients.const_data_ptr<Element>();
  auto* const of_channels = values_in<Channel<Number>>(channels);
  make_channels<<<blocks_for(runs), threads, 0, stream>>>(tiles, statistics_of(norm), of_channels);
  (norm.activated ? sum_gradients<true, Element, Number>
                  : sum_gradients<false, Element, Number>)<<<grid_of(tiles), threads, 0, stream>>>(
      tiles, of_channels, input, gradient, values_in<Sums>(partial));
  merge_gradients<<<static_cast<unsigned>(tiles.samples * tiles.groups), merging_threads, 0, stream>>>(
      tiles, statistics_of(norm), values_in<Sums>(partial), of_channels, values_in<Sums>(affine));
  add_samples<<<blocks_for(tiles.channels), threads, 0, stream>>>(tiles, values_in<Sums>(affine),
                                                                  of_weight.mutable_data_ptr<double>(),
                                                                  of_bias.mutable_data_ptr<double>());
  (norm.activated ? differentiate<true, Element, Number>
                  : differentiate<false, Element, Number>)<<<grid_of(tiles), threads, 0, stream>>>(
      tiles, of_channels, input, gradient, of_input.mutable_data_ptr<Element>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

}  // namespace

void group_norm_on_gpu(const GroupNormOnGpu& norm, double epsilon, const at::Tensor& output) {
  if (norm.input.numel() == 0) {
    norm.mean.zero_();
    norm.rstd.zero_();
    return;
  }
  const c10::cuda::CUDAGuard guard(norm.input.device());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, norm.input.scalar_type(), "group_norm_silu",
                                  [&] { forward<scalar_t>(norm, epsilon, output); });
}

void group_norm_backward_on_gpu(const GroupNormOnGpu& norm, const at::Tensor& gradient,
                                const at::Tensor& of_input, const at::Tensor& of_weight,
                                const at::Tensor& of_bias) {
  if (norm.input.numel() == 0) {
    of_weight.zero_();
    of_bias.zero_();
    return;
  }
  const c10::cuda::CUDAGuard guard(norm.input.device());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, norm.input.scalar_type(), "group_norm_silu",
                                  [&] { backward<scalar_t>(norm, gradient, of_input, of_weight, of_bias); });
}

}  // namespace larmor
