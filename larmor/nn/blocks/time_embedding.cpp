#include "larmor/nn/blocks/time_embedding.h"

#include <cassert>
#include <cmath>

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/silu.h>

namespace larmor::nn {

at::Tensor sinusoidal_embedding(const at::Tensor& times, int64_t width, Sinusoids form) {
  assert(times.dim() == 1 && width >= 4);
  const int64_t half = width / 2;
  const auto steps = static_cast<double>(form == Sinusoids::monai ? half : half - 1);
  // In float64: angles reach a thousand radians, of which float32 keeps four digits behind the point.
  const at::Tensor place = at::arange(half, times.options().dtype(at::kDouble));
  const at::Tensor frequencies = (place * (-std::log(10'000.0) / steps)).exp();
  const at::Tensor angles = times.to(at::kDouble).unsqueeze(1) * frequencies;
  const at::Tensor embedding = form == Sinusoids::monai ? at::cat({angles.cos(), angles.sin()}, 1)
                                                        : at::cat({angles.sin(), angles.cos()}, 1);
  return width % 2 == 0 ? embedding : at::constant_pad_nd(embedding, {0, 1});
}

TimeEmbedding::TimeEmbedding(int64_t in, int64_t out, const char* first, const char* second,
                             c10::Device device)
    : first_(register_module(first, linear_weights(in, out, /*has_bias=*/true, device))),
      second_(register_module(second, linear_weights(out, out, /*has_bias=*/true, device))) {}

at::Tensor TimeEmbedding::forward(const at::Tensor& sinusoids) {
  return linear(at::silu(linear(sinusoids, *first_)), *second_);
}

}  // namespace larmor::nn
