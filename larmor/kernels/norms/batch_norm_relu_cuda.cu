// The kernels of batch normalisation, of a sum and of ReLU behind it, forward and backward, and what launches
// them. With channels last the voxels of all samples are those of one.
#include <type_traits>

#include <ATen/Dispatch.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

#include "larmor/base/ensure.h"
#include "larmor/kernels/norms/batch_norm_operators.h"
#include "larmor/kernels/norms/norm_passes.cuh"
#include "larmor/kernels/norms/norm_tensors.h"

namespace larmor::batch_norms {
namespace {

using namespace norm_packs;
using at::Tensor;

/// What elements are computed in, as on CPUs: over the norms of a ResNet the roundings of float32 add up.
template <class Element>
using NumberOf = std::conditional_t<sizeof(Element) == 2, float, double>;

/// What lets a gradient through to ReLU's input.
enum class Gate { open, input, output };

/// One block a channel; visits each of its pieces in all samples, in one order.
template <class Visit>
__device__ void for_pieces_of_channel(const Tiles& tiles, Visit visit) {
  const int64_t channel = blockIdx.x, all = tiles.samples * tiles.pieces;
  for (int64_t i = threadIdx.x; i < all; i += merging_threads)
    visit((i / tiles.pieces * tiles.channels + channel) * tiles.pieces + i % tiles.pieces);
}

__global__ void merge_moments(Tiles tiles, const Moments* partial, double* mean, double* variance) {
  __shared__ Moments shared[merging_threads];
  Moments own{};
  for_pieces_of_channel(tiles, [&](int64_t place) { own = AddMoments()(own, partial[place]); });
  const Moments all = join(shared, own, merging_threads, AddMoments());
  if (threadIdx.x != 0) return;
  mean[blockIdx.x] = all.mean;
  variance[blockIdx.x] = all.squares / fmax(all.count, 1.0);
}

template <class Running>
__global__ void move_towards(int64_t channels, const double* mean, const double* variance,
                             const double* count, double momentum, Running* running_mean,
                             Running* running_variance) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= channels) return;
  const double unbiased = variance[i] * (*count / fmax(*count - 1, 1.0)), keeps = 1 - momentum;
  running_mean[i] = static_cast<Running>(keeps * static_cast<double>(running_mean[i]) + momentum * mean[i]);
  running_variance[i] =
      static_cast<Running>(keeps * static_cast<double>(running_variance[i]) + momentum * unbiased);
}

struct Statistics {
  Numbers weight, bias, mean, variance;
  double epsilon;

  __device__ double rstd(int64_t channel) const { return 1 / sqrt(variance[channel] + epsilon); }
  template <class Number>
  __device__ double lacking(int64_t channel) const {  // what the rounded mean lacks
    return mean[channel] - static_cast<double>(static_cast<Number>(mean[channel]));
  }
};

/// For each sample and channel. means [2, channels]: of the gradient's sums, or null.
template <class Number>
__global__ void make_channels(Tiles tiles, Statistics statistics, const double* means,
                              Channel<Number>* channels) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= tiles.samples * tiles.channels) return;
  const int64_t channel = i % tiles.channels;
  const double rstd = statistics.rstd(channel), scale = statistics.weight[channel] * rstd;
  const double lacking = statistics.lacking<Number>(channel);
  const double slope = means == nullptr ? 0 : -scale * rstd * means[channel];
  const double offset = means == nullptr ? 0 : -scale * means[tiles.channels + channel] - slope * lacking;
  channels[i] = {static_cast<Number>(statistics.mean[channel]), static_cast<Number>(scale),
                 static_cast<Number>(statistics.bias[channel] - lacking * scale), static_cast<Number>(slope),
                 static_cast<Number>(offset)};
}

template <bool activated, bool adds, class Element, class Number, int size, int lanes>
__global__ void normalise(Tiles tiles, const Channel<Number>* __restrict__ channels,
                          const Element* __restrict__ input, const Element* __restrict__ added,
                          Element* __restrict__ output) {
  const ThreadPart<lanes> part(tiles);
  const Channels<Number, lanes> by(channels, part);
  for_packs(
      part,
      [&](int64_t place) {
        if constexpr (adds)
          return packs_at<Element, size>(input, added, place);
        else
          return TwoPacks<Element, size>{pack_at<Element, size>(input, place), {}};
      },
      [&](int64_t place, const TwoPacks<Element, size>& packs) {
        Pack<Element, size> result;
#pragma unroll
        for (int i = 0; i < size; ++i) {
          const Channel<Number>& own = by.of[i % lanes];
          Number value = fma(static_cast<Number>(packs.input.of[i]) - own.centre, own.scale, own.shift);
          if (adds) value += static_cast<Number>(packs.beside.of[i]);
          result.of[i] = static_cast<Element>(activated && value < 0 ? Number(0) : value);
        }
        *reinterpret_cast<Pack<Element, size>*>(output + place) = result;
      });
}

/// What is not a number passes, as it does in libtorch's ReLU.
template <class Number>
__device__ Number let_through(Number gradient, Number value) {
  return value <= 0 ? Number(0) : gradient;
}

/// below: the gradient behind the gate, written where the output is the gate.
template <Gate gate, class Element, class Number, int size, int lanes>
__global__ void sum_gradients(Tiles tiles, const Channel<Number>* __restrict__ channels,
                              const Element* __restrict__ input, const Element* __restrict__ gradient,
                              const Element* __restrict__ output, Element* __restrict__ below,
                              Sums* __restrict__ partial) {
  const ThreadPart<lanes> part(tiles);
  const Channels<Number, lanes> by(channels, part);
  Number plain[lanes] = {}, centred[lanes] = {};
  for_packs(
      part, [&](int64_t place) { return packs_at<Element, size>(input, gradient, place); },
      [&](int64_t place, const TwoPacks<Element, size>& packs) {
        Pack<Element, size> results, through;
        if (gate == Gate::output) results = pack_at<Element, size>(output, place);
#pragma unroll
        for (int i = 0; i < size; ++i) {
          const Channel<Number>& own = by.of[i % lanes];
          const Number distance = static_cast<Number>(packs.input.of[i]) - own.centre;
          auto slope = static_cast<Number>(packs.beside.of[i]);
          if (gate == Gate::input) slope = let_through(slope, fma(distance, own.scale, own.shift));
          if (gate == Gate::output) slope = let_through(slope, static_cast<Number>(results.of[i]));
          through.of[i] = static_cast<Element>(slope);
          plain[i % lanes] += slope;
          centred[i % lanes] = fma(slope, distance, centred[i % lanes]);
        }
        if (gate == Gate::output) *reinterpret_cast<Pack<Element, size>*>(below + place) = through;
      });
  add_rows<lanes>(tiles, plain, centred, [&](int of_block, const Sums& sums) {
    const int64_t channel = part.first_column * lanes + of_block;
    if (channel < tiles.channels)
      partial[(blockIdx.z * tiles.channels + channel) * tiles.pieces + blockIdx.x] = sums;
  });
}

/// sums [2, channels]: the gradients of weight and bias.
template <class Number>
__global__ void merge_sums(Tiles tiles, Statistics statistics, const Sums* partial, double* sums) {
  __shared__ Sums shared[merging_threads];
  Sums own{};
  for_pieces_of_channel(tiles, [&](int64_t place) { own = AddSums()(own, partial[place]); });
  const Sums all = join(shared, own, merging_threads, AddSums());
  if (threadIdx.x != 0) return;
  const int64_t channel = blockIdx.x;
  sums[channel] = statistics.rstd(channel) * (all.other - statistics.lacking<Number>(channel) * all.plain);
  sums[tiles.channels + channel] = all.plain;
}

template <bool gated, class Element, class Number, int size, int lanes>
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
          auto below = static_cast<Number>(packs.beside.of[i]);
          if (gated) below = let_through(below, fma(distance, own.scale, own.shift));
          result.of[i] = static_cast<Element>(fma(own.scale, below, fma(own.slope, distance, own.offset)));
        }
        *reinterpret_cast<Pack<Element, size>*>(of_input + place) = result;
      });
}

Tiles tiles_of(const Tensor& input, int size, int lanes) {
  const bool channels_last = norms::lies_by_voxels(input);
  const int64_t samples = input.size(0), voxels = norms::voxels_of(input);
  Tiles tiles{.samples = channels_last ? 1 : samples, .channels = input.size(1)};
  tiles.voxels = channels_last ? samples * voxels : voxels;
  tiles.groups = tiles.channels;
  return cut(tiles, channels_last, size, lanes);
}

/// Calls run(an element, what it is computed in, size, lanes) with what suits the tensors, on the input's
/// device.
template <class Run>
void launch(const Tensor& input, std::initializer_list<Tensor> elements, Run run) {
  const c10::cuda::CUDAGuard guard(input.device());
  const bool channels_last = norms::lies_by_voxels(input);
  const int64_t row = norms::row_of(input);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, input.scalar_type(), "batch_norm_relu", [&] {
    in_packs<scalar_t>(row, channels_last, elements,
                       [&](auto size, auto lanes) { run(scalar_t{}, NumberOf<scalar_t>{}, size, lanes); });
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

Tensor empty_channels(const Tensor& input, at::IntArrayRef sizes) {
  return at::empty(sizes, input.options().dtype(at::kDouble));
}

template <class Element>
const Element* elements_of(const Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr<Element>() : nullptr;
}

/// What channels are normalised by, kept while it is used.
struct ByChannels {
  ByChannels(const Tensor& input, const Tensor& of_weight, const Tensor& of_bias, const Tensor& of_mean,
             const Tensor& of_variance, double of_epsilon)
      : weight(norms::at_least_float32(of_weight)),
        bias(norms::at_least_float32(of_bias)),
        mean(norms::at_least_float32(of_mean)),
        variance(norms::at_least_float32(of_variance)),
        epsilon(of_epsilon) {
    for (const Tensor& channels : {weight, bias, mean, variance}) ensure(channels.numel() == input.size(1));
  }
  Statistics statistics() const {
    return {Numbers(weight), Numbers(bias), Numbers(mean), Numbers(variance), epsilon};
  }

  Tensor weight, bias, mean, variance;
  double epsilon;
};

template <class Number>
Tensor channels_for(const Tiles& tiles, const ByChannels& by, const Tensor& means, const Tensor& like) {
  const int64_t runs = tiles.samples * tiles.channels;
  Tensor channels = memory_for<Channel<Number>>(runs, like);
  make_channels<<<blocks_for(runs), threads, 0, at::cuda::getCurrentCUDAStream()>>>(
      tiles, by.statistics(), elements_of<double>(means), values_in<Channel<Number>>(channels));
  return channels;
}

}  // namespace

Two moments_on_gpu(const Tensor& given) {
  const Tensor input = norms::whole(given);
  Tensor mean = empty_channels(input, {input.size(1)}), variance = at::empty_like(mean);
  if (input.numel() == 0) return {mean.zero_(), variance.zero_()};
  launch(input, {input}, [&](auto element, auto number, auto size, auto lanes) {
    using Element = decltype(element);
    const auto stream = at::cuda::getCurrentCUDAStream();
    const Tiles tiles = tiles_of(input, size, lanes);
    const auto partial = memory_for<Moments>(tiles.samples * tiles.channels * tiles.pieces, input);
    measure<Element, decltype(number), size, lanes><<<grid_of(tiles), threads, 0, stream>>>(
        tiles, input.const_data_ptr<Element>(), values_in<Moments>(partial));
    merge_moments<<<static_cast<unsigned>(tiles.channels), merging_threads, 0, stream>>>(
        tiles, values_in<Moments>(partial), mean.mutable_data_ptr<double>(),
        variance.mutable_data_ptr<double>());
  });
  return {mean, variance};
}

void remember_on_gpu(const Tensor& mean, const Tensor& variance, const Tensor& count,
                     const Tensor& running_mean, const Tensor& running_variance, double momentum) {
  if (mean.numel() == 0) return;
  const c10::cuda::CUDAGuard guard(mean.device());
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kHalf, at::kBFloat16, running_mean.scalar_type(), "batch_norm_remember", [&] {
        move_towards<<<blocks_for(mean.numel()), threads, 0, at::cuda::getCurrentCUDAStream()>>>(
            mean.numel(), mean.const_data_ptr<double>(), variance.const_data_ptr<double>(),
            count.const_data_ptr<double>(), momentum, running_mean.mutable_data_ptr<scalar_t>(),
            running_variance.mutable_data_ptr<scalar_t>());
      });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

Tensor normalise_on_gpu(const Tensor& given, const Optional& given_added, const Tensor& weight,
                        const Tensor& bias, const Tensor& mean, const Tensor& variance, double epsilon,
                        bool activated) {
  const Tensor input = norms::whole(given), output = at::empty_like(input);
  if (input.numel() == 0) return output;
  const Tensor added = given_added ? norms::laid_out_as(*given_added, input) : Tensor();
  const ByChannels by(input, weight, bias, mean, variance, epsilon);
  launch(input, {input, added, output}, [&](auto element, auto number, auto size, auto lanes) {
    using Element = decltype(element);
    using Number = decltype(number);
    const Tiles tiles = tiles_of(input, size, lanes);
    const Tensor channels = channels_for<Number>(tiles, by, {}, input);
    const auto run = added.defined() ? (activated ? normalise<true, true, Element, Number, size, lanes>
                                                  : normalise<false, true, Element, Number, size, lanes>)
                                     : (activated ? normalise<true, false, Element, Number, size, lanes>
                                                  : normalise<false, false, Element, Number, size, lanes>);
    run<<<grid_of(tiles), threads, 0, at::cuda::getCurrentCUDAStream()>>>(
        tiles, values_in<Channel<Number>>(channels), input.const_data_ptr<Element>(),
        elements_of<Element>(added), output.mutable_data_ptr<Element>());
  });
  return output;
}

Two sum_gradients_on_gpu(const Tensor& given_gradient, const Tensor& given, const Optional& given_output,
                         const Tensor& weight, const Tensor& bias, const Tensor& mean, const Tensor& variance,
                         double epsilon, bool activated) {
  const Tensor input = norms::whole(given), gradient = norms::laid_out_as(given_gradient, input);
  const Tensor output = given_output ? norms::laid_out_as(*given_output, input) : Tensor();
  const Tensor below = output.defined() ? at::empty_like(input) : Tensor();
  const Tensor sums = empty_channels(input, {2, input.size(1)});
  if (input.numel() == 0) return {below, sums.zero_()};
  const ByChannels by(input, weight, bias, mean, variance, epsilon);
  launch(input, {input, gradient, output, below}, [&](auto element, auto number, auto size, auto lanes) {
    using Element = decltype(element);
    using Number = decltype(number);
    const auto stream = at::cuda::getCurrentCUDAStream();
    const Tiles tiles = tiles_of(input, size, lanes);
    const Tensor channels = channels_for<Number>(tiles, by, {}, input);
    const auto partial = memory_for<Sums>(tiles.samples * tiles.channels * tiles.pieces, input);
    const auto run = !activated         ? sum_gradients<Gate::open, Element, Number, size, lanes>
                     : output.defined() ? sum_gradients<Gate::output, Element, Number, size, lanes>
                                        : sum_gradients<Gate::input, Element, Number, size, lanes>;
    run<<<grid_of(tiles), threads, 0, stream>>>(
        tiles, values_in<Channel<Number>>(channels), input.const_data_ptr<Element>(),
        gradient.const_data_ptr<Element>(), elements_of<Element>(output),
        below.defined() ? below.mutable_data_ptr<Element>() : nullptr, values_in<Sums>(partial));
    merge_sums<Number><<<static_cast<unsigned>(tiles.channels), merging_threads, 0, stream>>>(
        tiles, by.statistics(), values_in<Sums>(partial), sums.mutable_data_ptr<double>());
  });
  return {below, sums};
}

Tensor differentiate_on_gpu(const Tensor& given_gradient, const Tensor& given, const Tensor& weight,
                            const Tensor& bias, const Tensor& mean, const Tensor& variance,
                            const Optional& means, double epsilon, bool gated) {
  const Tensor input = norms::whole(given), gradient = norms::laid_out_as(given_gradient, input);
  const Tensor of_input = at::empty_like(input);
  if (input.numel() == 0) return of_input;
  const ByChannels by(input, weight, bias, mean, variance, epsilon);
  const Tensor of_means = means ? norms::widened(*means) : Tensor();
  launch(input, {input, gradient, of_input}, [&](auto element, auto number, auto size, auto lanes) {
    using Element = decltype(element);
    using Number = decltype(number);
    const Tiles tiles = tiles_of(input, size, lanes);
    const Tensor channels = channels_for<Number>(tiles, by, of_means, input);
    const auto run = gated ? differentiate<true, Element, Number, size, lanes>
                           : differentiate<false, Element, Number, size, lanes>;
    run<<<grid_of(tiles), threads, 0, at::cuda::getCurrentCUDAStream()>>>(
        tiles, values_in<Channel<Number>>(channels), input.const_data_ptr<Element>(),
        gradient.const_data_ptr<Element>(), of_input.mutable_data_ptr<Element>());
  });
  return of_input;
}

}  // namespace larmor::batch_norms
