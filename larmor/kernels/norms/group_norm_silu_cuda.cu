// The kernels of group normalisation and SiLU, forward and backward, and what launches them.
#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

#include "larmor/kernels/norms/group_norm_silu_cuda.h"
#include "larmor/kernels/norms/norm_passes.cuh"

namespace larmor {
namespace {

using namespace norm_packs;

/// One block a group of a sample.
__global__ void merge_moments(Tiles tiles, const Moments* partial, double epsilon, double* mean,
                              double* rstd) {
  __shared__ Moments shared[merging_threads];
  const int64_t group = blockIdx.x, count = tiles.group_channels() * tiles.pieces;
  Moments own{};
  for (int64_t i = threadIdx.x; i < count; i += merging_threads)
    own = AddMoments()(own, partial[group * count + i]);
  const Moments all = join(shared, own, merging_threads, AddMoments());
  if (threadIdx.x != 0) return;
  mean[group] = all.mean;
  rstd[group] = 1 / sqrt(all.squares / fmax(all.count, 1.0) + epsilon);
}

struct Statistics {
  Numbers weight, bias;
  const double *mean, *rstd;

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
  const double scale = statistics.rstd[group] * statistics.weight[channel];
  channels[i] = {static_cast<Number>(statistics.mean[group]), static_cast<Number>(scale),
                 static_cast<Number>(statistics.bias[channel] - statistics.lacking<Number>(group) * scale), 0,
                 0};
}

/// 1 / (1 + exp(-value)). What is rounded to 16 bits takes the device's fast exponential and quotient.
template <class Element, class Number>
__device__ Number sigmoid(Number value) {
  if constexpr (sizeof(Element) == 2) return __fdividef(1.0F, 1 + __expf(-value));
  return 1 / (1 + exp(-value));
}

template <bool activated, class Element, class Number, int size, int lanes>
__global__ void __launch_bounds__(threads, sizeof(Element) == 2 && lanes > 1 ? 4 : 0)  // else packs wait
    normalise(Tiles tiles, const Channel<Number>* __restrict__ channels, const Element* __restrict__ input,
              Element* __restrict__ output) {
  const ThreadPart<lanes> part(tiles);
  const Channels<Number, lanes> by(channels, part);
  for_packs(
      part, [&](int64_t place) { return pack_at<Element, size>(input, place); },
      [&](int64_t place, const Pack<Element, size>& pack) {
        Pack<Element, size> result;
#pragma unroll
        for (int i = 0; i < size; ++i) {
          const Channel<Number>& own = by.of[i % lanes];
          const Number value = fma(static_cast<Number>(pack.of[i]) - own.centre, own.scale, own.shift);
          result.of[i] = static_cast<Element>(activated ? value * sigmoid<Element>(value) : value);
        }
        *reinterpret_cast<Pack<Element, size>*>(output + place) = result;
      });
}

/// The gradient of what SiLU is taken of, where SiLU's input is `value`.
template <bool activated, class Element, class Number>
__device__ Number before_silu(Number value, Number gradient) {
  if (!activated) return gradient;
  const Number part = sigmoid<Element>(value);
  return gradient * part * fma(value, 1 - part, Number(1));
}

template <bool activated, class Element, class Number, int size, int lanes>
__global__ void sum_gradients(Tiles tiles, const Channel<Number>* __restrict__ channels,
                              const Element* __restrict__ input, const Element* __restrict__ gradient,
                              Sums* __restrict__ partial) {
  const ThreadPart<lanes> part(tiles);
  const Channels<Number, lanes> by(channels, part);
  Number plain[lanes] = {}, centred[lanes] = {};
  for_packs(
      part, [&](int64_t place) { return packs_at<Element, size>(input, gradient, place); },
      [&](int64_t, const TwoPacks<Element, size>& packs) {
#pragma unroll
        for (int i = 0; i < size; ++i) {
          const Channel<Number>& own = by.of[i % lanes];
          const Number distance = static_cast<Number>(packs.input.of[i]) - own.centre;
          const Number below = before_silu<activated, Element>(fma(distance, own.scale, own.shift),
                                                               static_cast<Number>(packs.beside.of[i]));
          plain[i % lanes] += below;
          centred[i % lanes] = fma(below, distance, centred[i % lanes]);
        }
      });
  add_rows<lanes>(tiles, plain, centred, [&](int of_block, const Sums& sums) {
    const int64_t channel = part.first_column * lanes + of_block;
    if (channel < tiles.channels)
      partial[(blockIdx.z * tiles.channels + channel) * tiles.pieces + blockIdx.x] = sums;
  });
}

/// One block a group of a sample; affine [samples, channels]: its gradients of weight and bias.
template <class Number>
__global__ void merge_gradients(Tiles tiles, Statistics statistics, const Sums* __restrict__ partial,
                                Channel<Number>* __restrict__ channels, Sums* __restrict__ affine) {
  __shared__ Sums shared[merging_threads];
  const int64_t group = blockIdx.x, begin = group * tiles.group_channels(),
                end = begin + tiles.group_channels();
  const double lacking = statistics.lacking<Number>(group), rstd = statistics.rstd[group];
  Sums all{};
  for (int64_t i = begin; i < end; ++i) {
    Sums own{};
    for (int64_t piece = threadIdx.x; piece < tiles.pieces; piece += merging_threads)
      own = AddSums()(own, partial[i * tiles.pieces + piece]);
    const Sums sums = join(shared, own, merging_threads, AddSums());
    const Sums of_channel{rstd * (sums.other - lacking * sums.plain), sums.plain};
    const double weight = statistics.weight[i % tiles.channels];
    all = AddSums()(all, {weight * sums.plain, weight * of_channel.plain});
    if (threadIdx.x == 0) affine[i] = of_channel;
  }
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

template <bool activated, class Element, class Number, int size, int lanes>
__global__ void differentiate(Tiles tiles, const Channel<Number>* __restrict__ channels,
                              const Element* __restrict__ input, const Element* __restrict__ gradient,
                              Element* __restrict__ of_input) {
  const ThreadPart<lanes> part(tiles);
  const Channels<Number, lanes> by(channels, part);
  for_packs(
      part, [&](int64_t place) { return packs_at<Element, size>(input, gradient, place); },
      [&](int64_t place, const TwoPacks<Element, size>& packs) {
        Pack<Element, size> result;
#pragma unroll
        for (int i = 0; i < size; ++i) {
          const Channel<Number>& own = by.of[i % lanes];
          const Number distance = static_cast<Number>(packs.input.of[i]) - own.centre;
          const Number below = before_silu<activated, Element>(fma(distance, own.scale, own.shift),
                                                               static_cast<Number>(packs.beside.of[i]));
          result.of[i] = static_cast<Element>(fma(own.scale, below, fma(own.slope, distance, own.offset)));
        }
        *reinterpret_cast<Pack<Element, size>*>(of_input + place) = result;
      });
}

Tiles tiles_of(const GroupNormOnGpu& norm, int size, int lanes) {
  Tiles tiles{.samples = norm.input.size(0), .channels = norm.input.size(1)};
  tiles.voxels = norm.input.numel() / std::max<int64_t>(tiles.samples * tiles.channels, 1);
  tiles.groups = norm.groups;
  return cut(tiles, norm.channels_last, size, lanes);
}

Statistics statistics_of(const GroupNormOnGpu& norm) {
  return {Numbers(norm.weight, 1), Numbers(norm.bias), norm.mean.const_data_ptr<double>(),
          norm.rstd.const_data_ptr<double>()};
}

template <class Element, int size, int lanes>
void forward(const GroupNormOnGpu& norm, double epsilon, const at::Tensor& output) {
  using Number = at::opmath_type<Element>;
  const auto stream = at::cuda::getCurrentCUDAStream();
  const Tiles tiles = tiles_of(norm, size, lanes);
  const int64_t runs = tiles.samples * tiles.channels;
  const auto partial = memory_for<Moments>(runs * tiles.pieces, norm.input);
  const auto channels = memory_for<Channel<Number>>(runs, norm.input);
  const auto* const input = norm.input.const_data_ptr<Element>();
  auto* const of_channels = values_in<Channel<Number>>(channels);
  measure<Element, Number, size, lanes>
      <<<grid_of(tiles), threads, 0, stream>>>(tiles, input, values_in<Moments>(partial));
  merge_moments<<<static_cast<unsigned>(tiles.samples * tiles.groups), merging_threads, 0, stream>>>(
      tiles, values_in<Moments>(partial), epsilon, norm.mean.mutable_data_ptr<double>(),
      norm.rstd.mutable_data_ptr<double>());
  make_channels<<<blocks_for(runs), threads, 0, stream>>>(tiles, statistics_of(norm), of_channels);
  (norm.activated ? normalise<true, Element, Number, size, lanes>
                  : normalise<false, Element, Number, size, lanes>)<<<grid_of(tiles), threads, 0, stream>>>(
      tiles, of_channels, input, output.mutable_data_ptr<Element>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

struct GradientsOnGpu {
  at::Tensor gradient, of_input, of_weight, of_bias;
};

template <class Element, int size, int lanes>
void backward(const GroupNormOnGpu& norm, const GradientsOnGpu& given) {
  using Number = at::opmath_type<Element>;
  const auto stream = at::cuda::getCurrentCUDAStream();
  const Tiles tiles = tiles_of(norm, size, lanes);
  const int64_t runs = tiles.samples * tiles.channels;
  const auto partial = memory_for<Sums>(runs * tiles.pieces, norm.input);
  const auto affine = memory_for<Sums>(runs, norm.input);
  const auto channels = memory_for<Channel<Number>>(runs, norm.input);
  const auto* const input = norm.input.const_data_ptr<Element>();
  const auto* const gradient = given.gradient.const_data_ptr<Element>();
  auto* const of_channels = values_in<Channel<Number>>(channels);
  make_channels<<<blocks_for(runs), threads, 0, stream>>>(tiles, statistics_of(norm), of_channels);
  (norm.activated
       ? sum_gradients<true, Element, Number, size, lanes>
       : sum_gradients<false, Element, Number, size, lanes>)<<<grid_of(tiles), threads, 0, stream>>>(
      tiles, of_channels, input, gradient, values_in<Sums>(partial));
  merge_gradients<<<static_cast<unsigned>(tiles.samples * tiles.groups), merging_threads, 0, stream>>>(
      tiles, statistics_of(norm), values_in<Sums>(partial), of_channels, values_in<Sums>(affine));
  add_samples<<<blocks_for(tiles.channels), threads, 0, stream>>>(tiles, values_in<Sums>(affine),
                                                                  given.of_weight.mutable_data_ptr<double>(),
                                                                  given.of_bias.mutable_data_ptr<double>());
  (norm.activated
       ? differentiate<true, Element, Number, size, lanes>
       : differentiate<false, Element, Number, size, lanes>)<<<grid_of(tiles), threads, 0, stream>>>(
      tiles, of_channels, input, gradient, given.of_input.mutable_data_ptr<Element>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

/// Voxels or channels that lie side by side.
int64_t row_of(const GroupNormOnGpu& norm) {
  const int64_t channels = norm.input.size(1);
  return norm.channels_last ? channels : norm.input.numel() / (norm.input.size(0) * channels);
}

}  // namespace

void group_norm_on_gpu(const GroupNormOnGpu& norm, double epsilon, const at::Tensor& output) {
  if (norm.input.numel() == 0) {
    norm.mean.zero_();
    norm.rstd.zero_();
    return;
  }
  const c10::cuda::CUDAGuard guard(norm.input.device());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, norm.input.scalar_type(), "group_norm_silu", [&] {
    in_packs<scalar_t>(row_of(norm), norm.channels_last, {norm.input, output},
                       [&](auto size, auto lanes) { forward<scalar_t, size, lanes>(norm, epsilon, output); });
  });
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
  const GradientsOnGpu given{gradient, of_input, of_weight, of_bias};
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, norm.input.scalar_type(), "group_norm_silu", [&] {
    in_packs<scalar_t>(row_of(norm), norm.channels_last, {norm.input, gradient, of_input},
                       [&](auto size, auto lanes) { backward<scalar_t, size, lanes>(norm, given); });
  });
}

}  // namespace larmor
