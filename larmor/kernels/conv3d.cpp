#include "larmor/kernels/conv3d.h"

#include <algorithm>
#include <optional>

#include <ATen/autocast_mode.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/conv3d.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/mkldnn_convolution.h>

#include "larmor/device/layout.h"
#include "larmor/kernels/conv3d_form.h"
#include "larmor/kernels/pointwise_conv.h"
#include "larmor/kernels/winograd_conv.h"

namespace larmor {
namespace {

using at::Tensor;
using PerAxis = std::array<int64_t, 3>;
constexpr int64_t longest_kernel_right_in_float32 = 5;
constexpr int64_t longest_short_row = 4, fewest_channels_in_blocks = 128;

bool is_autocast(const Tensor& input) {
  return input.is_cpu() && at::autocast::is_autocast_enabled(at::kCPU);
}

/// The type in which oneDNN convolves `input` on the CPU where we call it ourselves; nothing where libtorch
/// decides. A single sample with few voxels libtorch convolves by a path of its own (im2col and a product of
/// matrices), which makes a step at micro-batch 1 a third longer than it need be.
std::optional<at::ScalarType> type_for_one_dnn(const Tensor& input) {
  if (!input.is_cpu()) return std::nullopt;
  if (is_autocast(input)) {
    const auto type = at::autocast::get_autocast_dtype(at::kCPU);
    return type == at::kBFloat16 && input.scalar_type() != at::kDouble ? std::optional(type) : std::nullopt;
  }
  const auto type = input.scalar_type();
  return type == at::kFloat || type == at::kBFloat16 ? std::optional(type) : std::nullopt;
}

/// `tensor` [N, C, D, H, W] in the layout, itself where it is so already. With one channel both layouts are
/// the same bytes, and the strides have to say which one is meant.
Tensor in_layout(const Tensor& tensor, Layout layout) {
  if (layout == Layout::contiguous) return tensor.contiguous();
  if (tensor.size(1) > 1) return tensor.contiguous(at::MemoryFormat::ChannelsLast3d);
  const Tensor whole = tensor.contiguous();
  return whole.as_strided(whole.sizes(),
                          {whole.stride(0), 1, whole.stride(2), whole.stride(3), whole.stride(4)});
}

/// Whether rows of the result are shorter than what oneDNN's kernels for channels-last volumes take at a
/// time, and channels are many. Those kernels leave most of their registers empty then, and take up to twice
/// as long as the kernels that bring the volumes into blocks of channels themselves.
bool has_short_rows(const Tensor& input, const Tensor& weight, const PerAxis& stride,
                    const PerAxis& padding) {
  if (std::min(weight.size(0), weight.size(1)) < fewest_channels_in_blocks) return false;
  const int64_t room = input.size(4) + 2 * padding[2] - weight.size(4);
  return weight.size(4) > 1 && room / stride[2] + 1 <= longest_short_row;
}

}  // namespace

// On the meta device too, where memory is counted.
bool wants_padded_image(const Tensor& input, const Tensor& weight) {
  if (!input.is_cpu() && !input.is_meta()) return false;
  const bool in_half = is_autocast(input) || input.scalar_type() == at::kBFloat16;
  const int64_t longest_right = in_half ? 1 : longest_kernel_right_in_float32;
  for (const int64_t axis : {2, 3, 4}) {
    if (weight.size(axis) > longest_right && input.size(axis) <= weight.size(axis)) return true;
  }
  return false;
}

Conv3dForm conv3d_form(const Tensor& input, const Tensor& weight, const PerAxis& stride,
                       const PerAxis& padding) {
  const auto device = input.device().type();
  const auto one_dnn = type_for_one_dnn(input);
  const bool is_cast = (input.is_cpu() || input.is_cuda()) && at::autocast::is_autocast_enabled(device) &&
                       input.scalar_type() != at::kDouble;
  const at::ScalarType others = is_cast ? at::autocast::get_autocast_dtype(device) : input.scalar_type();
  const Layout layout = layout_here();
  Conv3dForm form{.stride = stride,
                  .padding = padding,
                  .type = one_dnn.value_or(others),
                  .by_one_dnn = one_dnn.has_value(),
                  .keeps_layout = !one_dnn && (layout == Layout::contiguous || input.is_meta()),
                  .by_winograd = false,
                  .within = layout,
                  .layout = layout};
  form.by_winograd = is_for_winograd(form, input, weight);
  if (!form.by_winograd && one_dnn && has_short_rows(input, weight, stride, padding))
    form.within = Layout::contiguous;
  return form;
}

Tensor volumes_for(const Conv3dForm& form, const Tensor& input) {
  const Tensor cast = at::autocast::cached_cast(form.type, input, input.device().type());
  return form.keeps_layout ? cast : in_layout(cast, form.within);
}

Tensor kernel_for(const Conv3dForm& form, const Tensor& weight) {
  const Tensor cast = at::autocast::cached_cast(form.type, weight, weight.device().type());
  return form.by_one_dnn ? in_layout(cast, form.within) : cast;
}

Tensor bias_for(const Conv3dForm& form, const Tensor& bias) {
  return bias.defined() ? at::autocast::cached_cast(form.type, bias, bias.device().type()) : bias;
}

Tensor convolved(const Conv3dForm& form, const Tensor& volumes, const Tensor& kernel, const Tensor& bias) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  if (form.by_winograd) return winograd_conv(volumes, kernel, bias);
  if (!form.by_one_dnn) return at::conv3d(volumes, kernel, bias, form.stride, form.padding);
  const Tensor result = at::mkldnn_convolution(volumes, kernel, bias, form.padding, form.stride,
                                               PerAxis{1, 1, 1}, /*groups=*/1);
  return form.within == form.layout ? result : in_layout(result, form.layout);
}

std::tuple<Tensor, Tensor, Tensor> convolved_gradients(const Conv3dForm& form, const Tensor& gradient,
                                                       const Tensor& volumes, const Tensor& kernel,
                                                       const std::array<bool, 3>& wanted) {
  const Tensor laid = volumes_for(form, gradient);
  if (form.by_winograd) return winograd_conv_gradients(laid, volumes, kernel, wanted);
  return at::convolution_backward(laid, volumes, kernel, std::array<int64_t, 1>{kernel.size(0)}, form.stride,
                                  form.padding, PerAxis{1, 1, 1}, /*transposed=*/false, PerAxis{0, 0, 0},
                                  /*groups=*/1, wanted);
}

namespace {

Tensor convolve(const Tensor& input, const Tensor& weight, const Tensor& bias, const PerAxis& stride,
                const PerAxis& padding) {
  const Conv3dForm form = conv3d_form(input, weight, stride, padding);
  const auto run = is_pointwise(form, input, weight) ? pointwise_conv : convolved;
  return run(form, volumes_for(form, input), kernel_for(form, weight), bias_for(form, bias));
}

}  // namespace

Tensor conv3d(const Tensor& input, const Tensor& weight, const Tensor& bias, const PerAxis& stride,
              const PerAxis& padding) {
  if (!wants_padded_image(input, weight)) return convolve(input, weight, bias, stride, padding);
  const auto [depth, height, width] = padding;
  const Tensor padded = at::constant_pad_nd(input, {width, width, height, height, depth, depth});
  return convolve(padded, weight, bias, stride, {0, 0, 0});
}

}  // namespace larmor
