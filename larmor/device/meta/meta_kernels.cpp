#include "larmor/device/meta/meta_kernels.h"

#include <cstdint>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include <ATen/ExpandUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/TypeProperties.h>
#include <ATen/ops/_scaled_dot_product_attention_math.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>
#include <torch/nn/module.h>

#include "larmor/device/meta/meta_gradients.h"

// Each function below is the shape half of the operator of its name; what an argument means stands in
// libtorch's native_functions.yaml. Their parameter lists are fixed by it.
namespace larmor {
namespace {

using at::Tensor;
using Sizes = std::vector<int64_t>;

/// A setting that is given for all axes or for each.
int64_t of_axis(at::IntArrayRef setting, size_t axis) {
  return setting.size() == 1 ? setting.front() : setting[axis];
}

Tensor shaped(const Sizes& sizes, const Tensor& like) { return at::empty(sizes, like.options()); }

/// What norms keep of their statistics has the type of their weights.
Tensor statistics_of(const Sizes& sizes, const Tensor& input, const std::optional<Tensor>& weight) {
  const bool has_weight = weight && weight->defined();
  return at::empty(sizes, input.options().dtype(has_weight ? weight->scalar_type() : input.scalar_type()));
}

// NOLINTBEGIN(performance-unnecessary-value-param): the dispatcher calls its kernels with this signature.
Tensor convolution_on_meta(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& /*bias*/,
                           c10::SymIntArrayRef strides, c10::SymIntArrayRef paddings,
                           c10::SymIntArrayRef dilations, bool transposed,
                           c10::SymIntArrayRef output_paddings, c10::SymInt groups) {
  // NOLINTEND(performance-unnecessary-value-param)
  const auto stride = C10_AS_INTARRAYREF_SLOW(strides), padding = C10_AS_INTARRAYREF_SLOW(paddings);
  const auto dilation = C10_AS_INTARRAYREF_SLOW(dilations);
  const auto output_padding = C10_AS_INTARRAYREF_SLOW(output_paddings);
  Sizes sizes{input.size(0), transposed ? weight.size(1) * groups.expect_int() : weight.size(0)};
  for (size_t axis = 0; axis + 2 < static_cast<size_t>(input.dim()); ++axis) {
    const int64_t size = input.size(static_cast<int64_t>(axis) + 2);
    const int64_t reach = of_axis(dilation, axis) * (weight.size(static_cast<int64_t>(axis) + 2) - 1) -
                          2 * of_axis(padding, axis);
    const int64_t step = of_axis(stride, axis);
    sizes.push_back(transposed ? (size - 1) * step + reach + of_axis(output_padding, axis) + 1
                               : (size - reach - 1) / step + 1);
  }
  return shaped(sizes, input);
}

std::tuple<Tensor, Tensor, Tensor> group_norm_on_meta(const Tensor& input,
                                                      const std::optional<Tensor>& weight,
                                                      const std::optional<Tensor>& /*bias*/, c10::SymInt rows,
                                                      c10::SymInt /*channels*/, c10::SymInt /*voxels*/,
                                                      int64_t groups, double /*epsilon*/) {
  const Sizes sizes{rows.expect_int(), groups};
  return {at::empty_like(input), statistics_of(sizes, input, weight), statistics_of(sizes, input, weight)};
}

std::tuple<Tensor, Tensor, Tensor> layer_norm_on_meta(const Tensor& input, c10::SymIntArrayRef normalised,
                                                      const std::optional<Tensor>& weight,
                                                      const std::optional<Tensor>& /*bias*/,
                                                      double /*epsilon*/) {
  Sizes sizes = input.sizes().vec();
  for (size_t axis = sizes.size() - normalised.size(); axis < sizes.size(); ++axis) sizes[axis] = 1;
  return {at::empty_like(input), statistics_of(sizes, input, weight), statistics_of(sizes, input, weight)};
}

std::tuple<Tensor, Tensor, Tensor> batch_norm_on_meta(
    const Tensor& input, const std::optional<Tensor>& weight, const std::optional<Tensor>& /*bias*/,
    const std::optional<Tensor>& /*running_mean*/, const std::optional<Tensor>& /*running_var*/,
    bool training, double /*momentum*/, double /*epsilon*/) {
  const Sizes sizes{training ? input.size(1) : 0};
  return {at::empty_like(input), statistics_of(sizes, input, weight), statistics_of(sizes, input, weight)};
}

Tensor relu_on_meta(const Tensor& input) { return at::empty_like(input); }

Tensor prelu_on_meta(const Tensor& input, const Tensor& /*weight*/) { return at::empty_like(input); }

std::tuple<Tensor, Tensor> log_sigmoid_on_meta(const Tensor& input) {
  return {at::empty_like(input), at::empty_like(input)};
}

Tensor abs_on_meta(const Tensor& input) { return at::empty_like(input); }

std::tuple<Tensor, Tensor> max_pool_on_meta(const Tensor& input, at::IntArrayRef kernel,
                                            at::IntArrayRef strides, at::IntArrayRef padding,
                                            at::IntArrayRef dilation, bool rounds_up) {
  Sizes sizes = input.sizes().vec();
  for (size_t axis = 0; axis < 3; ++axis) {
    int64_t& size = sizes[sizes.size() - 3 + axis];
    const int64_t stride = of_axis(strides.empty() ? kernel : strides, axis), pad = of_axis(padding, axis);
    const int64_t room = size + 2 * pad - of_axis(dilation, axis) * (of_axis(kernel, axis) - 1) - 1;
    int64_t places = (rounds_up ? room + stride - 1 : room) / stride + 1;
    // A window that would begin behind the input has no place.
    if (rounds_up && (places - 1) * stride >= size + pad) --places;
    size = places;
  }
  return {shaped(sizes, input), at::empty(sizes, input.options().dtype(at::kLong))};
}

Tensor adaptive_pool_on_meta(const Tensor& input, c10::SymIntArrayRef output) {
  Sizes sizes = input.sizes().vec();
  const size_t first = sizes.size() - output.size();
  for (size_t axis = 0; axis < output.size(); ++axis) sizes[first + axis] = output[axis].expect_int();
  return shaped(sizes, input);
}

Tensor grid_sampler_on_meta(const Tensor& input, const Tensor& grid, int64_t /*interpolation*/,
                            int64_t /*padding*/, bool /*align_corners*/) {
  return shaped({input.size(0), input.size(1), grid.size(1), grid.size(2), grid.size(3)}, input);
}

Tensor index_select_on_meta(const Tensor& input, int64_t axis, const Tensor& index) {
  Sizes sizes = input.sizes().vec();
  if (!sizes.empty()) sizes[static_cast<size_t>(axis < 0 ? axis + input.dim() : axis)] = index.numel();
  return shaped(sizes, input);
}

Tensor flip_on_meta(const Tensor& input, at::IntArrayRef /*axes*/) {
  return shaped(input.sizes().vec(), input);
}

Sizes common_size(const Tensor& condition, const Tensor& yes, const Tensor& no) {
  return at::infer_size(at::infer_size(yes.sizes(), no.sizes()), condition.sizes());
}

Tensor where_on_meta(const Tensor& condition, const Tensor& yes, const Tensor& no) {
  return at::empty(common_size(condition, yes, no),
                   condition.options().dtype(at::native::result_type(yes, no)));
}

Tensor& where_out_on_meta(const Tensor& condition, const Tensor& yes, const Tensor& no, Tensor& out) {
  out.resize_(common_size(condition, yes, no));
  return out;
}

Tensor both_on_meta(const Tensor& one, const Tensor& other) {
  return at::empty(at::infer_size(one.sizes(), other.sizes()), one.options().dtype(at::kBool));
}

Tensor& both_out_on_meta(const Tensor& one, const Tensor& other, Tensor& out) {
  const Sizes sizes = at::infer_size(one.sizes(), other.sizes());
  if (out.sizes() != sizes) out.resize_(sizes);
  return out;
}

Tensor not_on_meta(const Tensor& input) { return at::empty_like(input, input.options().dtype(at::kBool)); }

std::tuple<Tensor, Tensor> blockwise_attention_on_meta(const Tensor& query, const Tensor& /*key*/,
                                                       const Tensor& /*value*/, double /*dropout*/,
                                                       bool /*causal*/, const std::optional<Tensor>& /*mask*/,
                                                       std::optional<double> /*scale*/) {
  const Sizes sizes{query.size(0), query.size(1), query.size(2)};
  const bool is_half = query.scalar_type() == at::kBFloat16 || query.scalar_type() == at::kHalf;
  return {at::empty_like(query),
          at::empty(sizes, query.options().dtype(is_half ? at::kFloat : query.scalar_type()))};
}

/// Whether the CPU computes attention block by block and so keeps no weights [N, heads, L, L] of it. On
/// CUDA more cases do.
bool attends_blockwise(const Tensor& query, const Tensor& key, const Tensor& value,
                       const std::optional<Tensor>& mask, double dropout) {
  const bool mask_learns = mask && mask->defined() && mask->requires_grad();
  const auto fits = [&](const Tensor& tensor) {
    return tensor.dim() == 4 && tensor.size(0) == query.size(0) && tensor.size(1) == query.size(1) &&
           tensor.size(3) == query.size(3) && tensor.size(2) > 0 && tensor.stride(3) == 1;
  };
  return dropout == 0 && !mask_learns && fits(query) && fits(key) && fits(value);
}

// libtorch's own choice knows no meta device and always keeps the whole [L, L].
Tensor attention_on_meta(const Tensor& query, const Tensor& key, const Tensor& value,
                         const std::optional<Tensor>& given_mask, double dropout, bool causal,
                         std::optional<double> scale, bool grouped) {
  std::optional<Tensor> mask = given_mask;
  if (mask && mask->defined() && mask->scalar_type() == at::kBool)
    mask = at::empty(mask->sizes(), mask->options().dtype(query.scalar_type()));
  if (attends_blockwise(query, key, value, mask, dropout)) {
    return std::get<0>(
        at::_scaled_dot_product_flash_attention_for_cpu(query, key, value, dropout, causal, mask, scale));
  }
  return std::get<0>(at::_scaled_dot_product_attention_math(query, key, value, mask, dropout, causal,
                                                            std::nullopt, scale, grouped));
}

void register_everything() {
  // Never destroyed: a library that goes takes its kernels along. No static initialiser either: nothing would
  // keep it in a program that is linked from archives.
  static auto* const meta =
      new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::Meta, __FILE__, __LINE__);
  meta->impl("convolution", convolution_on_meta);
  meta->impl("native_group_norm", group_norm_on_meta);
  meta->impl("native_layer_norm", layer_norm_on_meta);
  meta->impl("native_batch_norm", batch_norm_on_meta);
  meta->impl("relu", relu_on_meta);
  meta->impl("_prelu_kernel", prelu_on_meta);
  meta->impl("log_sigmoid_forward", log_sigmoid_on_meta);
  meta->impl("abs", abs_on_meta);
  meta->impl("max_pool3d_with_indices", max_pool_on_meta);
  meta->impl("_adaptive_avg_pool2d", adaptive_pool_on_meta);
  meta->impl("_adaptive_avg_pool3d", adaptive_pool_on_meta);
  meta->impl("grid_sampler_3d", grid_sampler_on_meta);
  meta->impl("index_select", index_select_on_meta);
  meta->impl("flip", flip_on_meta);
  meta->impl("where.self", where_on_meta);
  meta->impl("logical_and", both_on_meta);
  meta->impl("logical_or", both_on_meta);
  meta->impl("logical_and.out", both_out_on_meta);  // in place
  meta->impl("logical_or.out", both_out_on_meta);
  meta->impl("logical_not", not_on_meta);
  meta->impl("where.self_out", where_out_on_meta);
  meta->impl("_scaled_dot_product_flash_attention_for_cpu", blockwise_attention_on_meta);
  add_meta_gradients(*meta);
  static auto* const graph =
      new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::AutogradMeta, __FILE__, __LINE__);
  graph->impl("scaled_dot_product_attention", attention_on_meta);
}

void lose_values(const Tensor& tensor) {
  if (!tensor.defined() || tensor.is_meta()) return;
  const Tensor empty = at::empty(tensor.sizes(), tensor.options().device(at::kMeta));
  tensor.unsafeGetTensorImpl()->shallow_copy_from(empty.getIntrusivePtr());
}

}  // namespace

void register_meta_kernels() {
  static std::once_flag done;
  std::call_once(done, register_everything);
}

void move_to_meta(torch::nn::Module& module) {
  for (const Tensor& parameter : module.parameters()) lose_values(parameter);
  for (const Tensor& buffer : module.buffers()) lose_values(buffer);
}

}  // namespace larmor
