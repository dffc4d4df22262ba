// The kernels of a number for each channel: added, and its gradient summed.
#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

#include "larmor/kernels/convolution/channel_bias_operators.h"
#include "larmor/kernels/norms/norm_passes.cuh"
#include "larmor/kernels/norms/norm_tensors.h"

namespace larmor::channel_bias {
namespace {

using namespace norm_packs;
using at::Tensor;

/// of_samples: bias [samples, channels], else [channels].
template <class Element, class Number, int size, int lanes>
__global__ void add(Tiles tiles, Numbers bias, bool of_samples, Element* __restrict__ input) {
  const ThreadPart<lanes> part(tiles);
  if (part.count == 0) return;
  const int64_t first = of_samples ? part.run : part.run % tiles.channels;
  Number added[lanes];
#pragma unroll
  for (int lane = 0; lane < lanes; ++lane) added[lane] = static_cast<Number>(bias[first + lane]);
  for_packs(
      part, [&](int64_t place) { return *reinterpret_cast<const Pack<Element, size>*>(input + place); },
      [&](int64_t place, const Pack<Element, size>& pack) {
        Pack<Element, size> result;
#pragma unroll
        for (int i = 0; i < size; ++i)
          result.of[i] = static_cast<Element>(static_cast<Number>(pack.of[i]) + added[i % lanes]);
        *reinterpret_cast<Pack<Element, size>*>(input + place) = result;
      });
}

/// partial [samples, channels, pieces]
template <class Element, class Number, int size, int lanes>
__global__ void sum_pieces(Tiles tiles, const Element* __restrict__ gradient, Sums* __restrict__ partial) {
  const ThreadPart<lanes> part(tiles);
  Number plain[lanes] = {}, none[lanes] = {};
  for_packs(
      part, [&](int64_t place) { return pack_at<Element, size>(gradient, place); },
      [&](int64_t, const Pack<Element, size>& pack) {
#pragma unroll
        for (int i = 0; i < size; ++i) plain[i % lanes] += static_cast<Number>(pack.of[i]);
      });
  add_rows<lanes>(tiles, plain, none, [&](int of_block, const Sums& sums) {
    const int64_t channel = part.first_column * lanes + of_block;
    if (channel < tiles.channels)
      partial[(blockIdx.z * tiles.channels + channel) * tiles.pieces + blockIdx.x] = sums;
  });
}

/// One block a channel, or a channel of a sample where `samples` is 1.
template <class Result>
__global__ void merge(int64_t samples, int64_t channels, int64_t pieces, const Sums* partial, Result* sums) {
  __shared__ Sums shared[merging_threads];
  Sums own{};
  for (int64_t i = threadIdx.x; i < samples * pieces; i += merging_threads)
    own = AddSums()(own, partial[(i / pieces * channels + blockIdx.x) * pieces + i % pieces]);
  const Sums all = join(shared, own, merging_threads, AddSums());
  if (threadIdx.x == 0) sums[blockIdx.x] = static_cast<Result>(all.plain);
}

/// Samples that share their bias lie behind one another with channels last: one run of voxels.
Tiles tiles_of(const Tensor& input, bool of_samples, bool channels_last, int size, int lanes) {
  const bool is_one = channels_last && !of_samples;
  Tiles tiles{.samples = is_one ? 1 : input.size(0), .channels = input.size(1)};
  tiles.voxels = norms::voxels_of(input) * (is_one ? input.size(0) : 1);
  tiles.groups = tiles.channels;
  return cut(tiles, channels_last, size, lanes);
}

}  // namespace

void add_on_gpu(const Tensor& given, const Tensor& bias) {
  if (given.numel() == 0) return;
  const c10::cuda::CUDAGuard guard(given.device());
  const Tensor input = norms::whole(given), numbers = norms::at_least_float32(bias);
  const bool channels_last = norms::lies_by_voxels(input), of_samples = bias.dim() == 2;
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, input.scalar_type(), "add_channel_bias", [&] {
    in_packs<scalar_t>(norms::row_of(input), channels_last, {input}, [&](auto size, auto lanes) {
      const Tiles tiles = tiles_of(input, of_samples, channels_last, size, lanes);
      add<scalar_t, at::opmath_type<scalar_t>, size, lanes>
          <<<grid_of(tiles), threads, 0, at::cuda::getCurrentCUDAStream()>>>(
              tiles, Numbers(numbers), of_samples, input.mutable_data_ptr<scalar_t>());
    });
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  if (!input.is_same(given)) given.copy_(input);
}

Tensor sums_on_gpu(const Tensor& given, bool of_samples, at::ScalarType result) {
  const c10::cuda::CUDAGuard guard(given.device());
  const Tensor gradient = norms::whole(given);
  const bool channels_last = norms::lies_by_voxels(gradient);
  const auto options = gradient.options().dtype(result == at::kDouble ? at::kDouble : at::kFloat);
  const int64_t channels = gradient.size(1);
  const Tensor sums =
      of_samples ? at::empty({gradient.size(0), channels}, options) : at::empty({channels}, options);
  if (gradient.numel() == 0) return sums.zero_().to(result);
  const auto stream = at::cuda::getCurrentCUDAStream();
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, gradient.scalar_type(), "channel_sums", [&] {
    in_packs<scalar_t>(norms::row_of(gradient), channels_last, {gradient}, [&](auto size, auto lanes) {
      const Tiles tiles = tiles_of(gradient, of_samples, channels_last, size, lanes);
      const auto partial = memory_for<Sums>(tiles.samples * channels * tiles.pieces, gradient);
      sum_pieces<scalar_t, at::opmath_type<scalar_t>, size, lanes><<<grid_of(tiles), threads, 0, stream>>>(
          tiles, gradient.const_data_ptr<scalar_t>(), values_in<Sums>(partial));
      const int64_t added = of_samples ? 1 : tiles.samples,
                    runs = of_samples ? tiles.samples * channels : channels;
      if (result == at::kDouble)
        merge<<<static_cast<unsigned>(runs), merging_threads, 0, stream>>>(
            added, runs, tiles.pieces, values_in<Sums>(partial), sums.mutable_data_ptr<double>());
      else
        merge<<<static_cast<unsigned>(runs), merging_threads, 0, stream>>>(
            added, runs, tiles.pieces, values_in<Sums>(partial), sums.mutable_data_ptr<float>());
    });
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return sums.to(result);
}

}  // namespace larmor::channel_bias
