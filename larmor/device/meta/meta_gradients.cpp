#include "larmor/device/meta/meta_gradients.h"

#include <array>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

// Each function below is the shape half of the operator of its name; what an argument means stands in
// libtorch's native_functions.yaml. Their parameter lists are fixed by it.
namespace larmor {
namespace {

using at::Tensor;
using Three = std::tuple<Tensor, Tensor, Tensor>;
using Wanted = std::array<bool, 3>;

Tensor like_where(bool is_wanted, const Tensor& tensor) {
  return is_wanted ? at::empty_like(tensor) : Tensor();
}

/// Gradients of weight and bias have their type.
Tensor affine_where(bool is_wanted, at::IntArrayRef sizes, const Tensor& input,
                    const std::optional<Tensor>& weight) {
  if (!is_wanted) return {};
  const bool has_weight = weight && weight->defined();
  return at::empty(sizes, input.options().dtype(has_weight ? weight->scalar_type() : input.scalar_type()));
}

// NOLINTBEGIN(performance-unnecessary-value-param): the dispatcher calls its kernels with these signatures.
Three convolution_backward(const Tensor& gradient, const Tensor& input, const Tensor& weight,
                           at::OptionalSymIntArrayRef /*bias_sizes*/, c10::SymIntArrayRef /*stride*/,
                           c10::SymIntArrayRef /*padding*/, c10::SymIntArrayRef /*dilation*/,
                           bool /*transposed*/, c10::SymIntArrayRef /*output_padding*/,
                           c10::SymInt /*groups*/, Wanted wanted) {
  return {like_where(wanted[0], input), like_where(wanted[1], weight),
          affine_where(wanted[2], {gradient.size(1)}, input, weight)};
}

Three batch_norm_backward(const Tensor& /*gradient*/, const Tensor& input,
                          const std::optional<Tensor>& weight, const std::optional<Tensor>& /*running_mean*/,
                          const std::optional<Tensor>& /*running_var*/, const std::optional<Tensor>& /*mean*/,
                          const std::optional<Tensor>& /*rstd*/, bool /*training*/, double /*epsilon*/,
                          Wanted wanted) {
  const std::vector<int64_t> sizes{input.size(1)};
  return {like_where(wanted[0], input), affine_where(wanted[1], sizes, input, weight),
          affine_where(wanted[2], sizes, input, weight)};
}

Three group_norm_backward(const Tensor& /*gradient*/, const Tensor& input, const Tensor& /*mean*/,
                          const Tensor& /*rstd*/, const std::optional<Tensor>& weight, c10::SymInt /*rows*/,
                          c10::SymInt channels, c10::SymInt /*voxels*/, int64_t /*groups*/, Wanted wanted) {
  const std::vector<int64_t> sizes{channels.expect_int()};
  return {like_where(wanted[0], input), affine_where(wanted[1], sizes, input, weight),
          affine_where(wanted[2], sizes, input, weight)};
}

Three layer_norm_backward(const Tensor& /*gradient*/, const Tensor& input, c10::SymIntArrayRef normalised,
                          const Tensor& /*mean*/, const Tensor& /*rstd*/, const std::optional<Tensor>& weight,
                          const std::optional<Tensor>& /*bias*/, Wanted wanted) {
  const auto sizes = C10_AS_INTARRAYREF_SLOW(normalised);
  return {like_where(wanted[0], input), affine_where(wanted[1], sizes, input, weight),
          affine_where(wanted[2], sizes, input, weight)};
}

Tensor embedding_backward(const Tensor& gradient, const Tensor& /*indices*/, c10::SymInt rows,
                          c10::SymInt /*padding*/, bool /*scaled_by_frequency*/) {
  return at::empty({rows.expect_int(), gradient.size(-1)}, gradient.options());
}
// NOLINTEND(performance-unnecessary-value-param)

Tensor max_pool_backward(const Tensor& /*gradient*/, const Tensor& input, at::IntArrayRef /*kernel*/,
                         at::IntArrayRef /*strides*/, at::IntArrayRef /*padding*/,
                         at::IntArrayRef /*dilation*/, bool /*rounds_up*/, const Tensor& /*places*/) {
  return at::empty_like(input);
}

Tensor adaptive_pool_backward(const Tensor& /*gradient*/, const Tensor& input) {
  return at::empty_like(input);
}

std::tuple<Tensor, Tensor> grid_sampler_backward(const Tensor& /*gradient*/, const Tensor& input,
                                                 const Tensor& grid, int64_t /*interpolation*/,
                                                 int64_t /*padding*/, bool /*align_corners*/,
                                                 std::array<bool, 2> wanted) {
  return {like_where(wanted[0], input), at::empty_like(grid)};
}

/// That of the weight is summed up behind it.
std::tuple<Tensor, Tensor> prelu_backward(const Tensor& /*gradient*/, const Tensor& input,
                                          const Tensor& /*weight*/) {
  return {at::empty_like(input), at::empty_like(input)};
}

Tensor log_sigmoid_backward(const Tensor& /*gradient*/, const Tensor& input, const Tensor& /*buffer*/) {
  return at::empty_like(input);
}

Tensor mse_backward(const Tensor& /*gradient*/, const Tensor& input, const Tensor& /*target*/,
                    int64_t /*reduction*/) {
  return at::empty_like(input);
}

Three blockwise_attention_backward(const Tensor& /*gradient*/, const Tensor& query, const Tensor& key,
                                   const Tensor& value, const Tensor& /*output*/, const Tensor& /*sums*/,
                                   double /*dropout*/, bool /*causal*/, const std::optional<Tensor>& /*mask*/,
                                   std::optional<double> /*scale*/) {
  return {at::empty_like(query), at::empty_like(key), at::empty_like(value)};
}

}  // namespace

void add_meta_gradients(torch::Library& meta) {
  meta.impl("convolution_backward", convolution_backward);
  meta.impl("native_batch_norm_backward", batch_norm_backward);
  meta.impl("native_group_norm_backward", group_norm_backward);
  meta.impl("native_layer_norm_backward", layer_norm_backward);
  meta.impl("embedding_dense_backward", embedding_backward);
  meta.impl("max_pool3d_with_indices_backward", max_pool_backward);
  meta.impl("_adaptive_avg_pool2d_backward", adaptive_pool_backward);
  meta.impl("_adaptive_avg_pool3d_backward", adaptive_pool_backward);
  meta.impl("grid_sampler_3d_backward", grid_sampler_backward);
  meta.impl("_prelu_kernel_backward", prelu_backward);
  meta.impl("log_sigmoid_backward", log_sigmoid_backward);
  meta.impl("mse_loss_backward", mse_backward);
  meta.impl("_scaled_dot_product_flash_attention_for_cpu_backward", blockwise_attention_backward);
}

}  // namespace larmor
