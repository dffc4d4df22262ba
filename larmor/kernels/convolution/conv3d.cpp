#include "larmor/kernels/convolution/conv3d.h"

#include <algorithm>
#include <optional>

#include <ATen/autocast_mode.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/conv3d.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/mkldnn_convolution.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/custom_class.h>

#include "larmor/device/cpu_ability.h"
#include "larmor/device/layout.h"
#include "larmor/device/trial_record.h"
#include "larmor/kernels/convolution/channel_bias.h"
#include "larmor/kernels/convolution/column_conv.h"
#include "larmor/kernels/convolution/conv3d_form.h"
#include "larmor/kernels/convolution/conv_trial.h"
#include "larmor/kernels/convolution/pointwise_conv.h"
#include "larmor/kernels/convolution/taps_conv.h"
#include "larmor/kernels/convolution/winograd_conv.h"
#include "larmor/kernels/operator.h"

namespace larmor {
namespace {

using at::Tensor;
using PerAxis = std::array<int64_t, 3>;
using Gradients = std::tuple<Tensor, Tensor, Tensor>;
constexpr PerAxis ones{1, 1, 1}, zeros{0, 0, 0};
constexpr int64_t longest_short_row = 4, fewest_channels_in_blocks = 128;
constexpr int64_t longest_kernel_read_whole = 3;

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

int64_t result_size(const Tensor& input, const Tensor& weight, const Conv3dForm& form, std::size_t axis) {
  const auto of_tensor = static_cast<int64_t>(axis) + 2;
  const int64_t room = input.size(of_tensor) + 2 * form.padding[axis] - weight.size(of_tensor);
  return room < 0 ? 0 : room / form.stride[axis] + 1;
}

/// Whether there is something to compute; libtorch says what is wrong where there is not.
bool is_possible(const Tensor& input, const Tensor& weight, const Conv3dForm& form) {
  for (std::size_t axis = 0; axis < form.stride.size(); ++axis)
    if (result_size(input, weight, form, axis) == 0) return false;
  return input.numel() > 0 && input.size(1) == weight.size(1);
}

bool has_short_rows(const Tensor& input, const Tensor& weight, const Conv3dForm& form) {
  return result_size(input, weight, form, 2) <= longest_short_row;
}

/// Whether oneDNN's kernels for channels-last volumes leave most of their registers empty, since rows of the
/// result are shorter than what they take at a time, and channels are many: they take up to twice as long
/// then as the kernels that bring the volumes into blocks of channels themselves.
bool is_faster_in_blocks(const Tensor& input, const Tensor& weight, const Conv3dForm& form) {
  return std::min(weight.size(0), weight.size(1)) >= fewest_channels_in_blocks && weight.size(4) > 1 &&
         has_short_rows(input, weight, form);
}

/// Whether padding reaches over a whole axis of the image for some tap of the kernel.
bool has_axis_within_kernel(const Tensor& input, const Tensor& weight) {
  for (const int64_t axis : {2, 3, 4})
    if (weight.size(axis) > 1 && input.size(axis) <= weight.size(axis)) return true;
  return false;
}

ConvSizes sizes_of(const Tensor& input, const Tensor& weight) {
  return {.samples = input.size(0),
          .in = input.size(1),
          .out = weight.size(0),
          .image = {input.size(2), input.size(3), input.size(4)},
          .kernel = {weight.size(2), weight.size(3), weight.size(4)}};
}

/// Whether the windows of the kernel do not overlap along an axis on which they move by more than a voxel, or
/// leave out voxels of the image behind the last one.
bool has_windows_apart(const Tensor& input, const Tensor& weight, const Conv3dForm& form) {
  for (std::size_t axis = 0; axis < form.stride.size(); ++axis) {
    const auto of_tensor = static_cast<int64_t>(axis) + 2;
    const int64_t stride = form.stride[axis], reach = weight.size(of_tensor);
    if (stride > 1 && reach <= stride) return true;
    const int64_t end = (result_size(input, weight, form, axis) - 1) * stride + reach - form.padding[axis];
    if (end < input.size(of_tensor)) return true;
  }
  return false;
}

/// oneDNN's kernels in bfloat16 take neighbours along a row together, in pairs and in tiles of AMX, and leave
/// out by masks what lies beyond; those that make the gradient of a kernel know padding on one side of a tap
/// at a time. So rows have to be longer than such neighbours, and images longer than the kernel. On
/// CPUs with AMX results are wrong where the windows of a stride do not overlap, and the gradient of voxels
/// that no window reaches is not written: windows have to overlap and to reach the whole image. In float32
/// nothing is taken together, and kernels of up to 3 voxels along each axis are read as they are.
ConvPath path_in_one_dnn(const Tensor& input, const Tensor& weight, const Conv3dForm& form) {
  if (!one_dnn_computes(form.type)) return ConvPath::columns;
  const int64_t longest = std::max({weight.size(2), weight.size(3), weight.size(4)});
  if (form.type != at::kBFloat16 && longest <= longest_kernel_read_whole) return ConvPath::one_dnn;
  if (has_short_rows(input, weight, form) || has_windows_apart(input, weight, form)) return ConvPath::columns;
  return has_axis_within_kernel(input, weight) ? ConvPath::padded : ConvPath::one_dnn;
}

}  // namespace

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
                  .path = one_dnn ? ConvPath::one_dnn : ConvPath::libtorch,
                  .keeps_layout = !one_dnn && (layout == Layout::contiguous || input.is_meta()),
                  .within = layout,
                  .layout = layout};
  if (!one_dnn || !is_possible(input, weight, form)) return form;
  form.path =
      is_for_winograd(form, input, weight) ? ConvPath::winograd : path_in_one_dnn(input, weight, form);
  if (form.path == ConvPath::one_dnn && is_faster_in_blocks(input, weight, form))
    form.within = Layout::contiguous;
  if (form.path == ConvPath::columns) form.within = Layout::channels_last;
  TrialRecord* const record = trial_record();
  return record == nullptr ? form : tried_form(*record, form, sizes_of(input, weight));
}

Tensor volumes_for(const Conv3dForm& form, const Tensor& input) {
  const Tensor cast = at::autocast::cached_cast(form.type, input, input.device().type());
  return form.keeps_layout ? cast : in_layout(cast, form.within);
}

Tensor kernel_for(const Conv3dForm& form, const Tensor& weight) {
  const Tensor cast = at::autocast::cached_cast(form.type, weight, weight.device().type());
  return form.path == ConvPath::libtorch ? cast : in_layout(cast, form.within);
}

Tensor bias_for(const Conv3dForm& form, const Tensor& bias) {
  return bias.defined() ? at::autocast::cached_cast(form.type, bias, bias.device().type()) : bias;
}

bool has_bias_apart(const Conv3dForm& form, const Tensor& input, const Tensor& bias) {
  return bias.defined() && form.path == ConvPath::libtorch && is_bias_apart(input, form.type);
}

namespace {

Tensor by_one_dnn(const Tensor& volumes, const Tensor& kernel, const Tensor& bias, const PerAxis& stride,
                  const PerAxis& padding) {
  return at::mkldnn_convolution(volumes, kernel, bias, padding, stride, ones, /*groups=*/1);
}

Gradients gradients_by_libtorch(const Tensor& gradient, const Tensor& volumes, const Tensor& kernel,
                                const PerAxis& stride, const PerAxis& padding,
                                const std::array<bool, 3>& wanted) {
  return at::convolution_backward(gradient, volumes, kernel, std::array<int64_t, 1>{kernel.size(0)}, stride,
                                  padding, ones, /*transposed=*/false, zeros, /*groups=*/1, wanted);
}

Tensor with_zeros_around(const Tensor& volumes, const PerAxis& padding) {
  const auto [depth, height, width] = padding;
  return at::constant_pad_nd(volumes, {width, width, height, height, depth, depth});
}

Tensor without_border(Tensor volumes, const PerAxis& padding) {
  for (std::size_t i = 0; i < padding.size(); ++i) {
    const auto axis = static_cast<int64_t>(i) + 2;
    volumes = volumes.narrow(axis, padding[i], volumes.size(axis) - 2 * padding[i]);
  }
  return volumes;
}

/// Of paths that keep for backward what they are given, and make of it what they need once more.
Tensor convolved_again(const Conv3dForm& form, const Tensor& volumes, const Tensor& kernel,
                       const Tensor& bias) {
  if (form.path == ConvPath::padded)
    return by_one_dnn(with_zeros_around(volumes, form.padding), kernel, bias, form.stride, zeros);
  if (form.path == ConvPath::columns) return column_conv(volumes, kernel, bias, form.stride, form.padding);
  const Tensor wide_bias = bias.defined() ? bias.to(at::kFloat) : bias;
  return column_conv(volumes.to(at::kFloat), kernel.to(at::kFloat), wide_bias, form.stride, form.padding)
      .to(form.type);
}

Gradients gradients_again(const Conv3dForm& form, const Tensor& gradient, const Tensor& volumes,
                          const Tensor& kernel, const std::array<bool, 3>& wanted) {
  if (form.path == ConvPath::columns)
    return column_conv_gradients(gradient, volumes, kernel, form.stride, form.padding, wanted);
  if (form.path == ConvPath::padded) {
    auto found = gradients_by_libtorch(gradient, with_zeros_around(volumes, form.padding), kernel,
                                       form.stride, zeros, wanted);
    if (wanted[0])
      std::get<0>(found) = in_layout(without_border(std::get<0>(found), form.padding), form.within);
    return found;
  }
  const auto wide = [](const Tensor& tensor) { return tensor.to(at::kFloat); };
  auto [of_volumes, of_kernel, of_bias] =
      column_conv_gradients(wide(gradient), wide(volumes), wide(kernel), form.stride, form.padding, wanted);
  const auto narrow = [&](const Tensor& tensor) { return tensor.defined() ? tensor.to(form.type) : tensor; };
  return {narrow(of_volumes), narrow(of_kernel), narrow(of_bias)};
}

struct FormOfBackward : torch::CustomClassHolder {
  explicit FormOfBackward(const Conv3dForm& of_form) : form(of_form) {}
  Conv3dForm form;
};

struct ConvolutionAgain : GradientNode<ConvolutionAgain> {
  static Tensor forward(Context* context, const Tensor& volumes, const Tensor& kernel,
                        const std::optional<Tensor>& bias, const Conv3dForm& form) {
    context->save_for_backward({volumes, kernel, bias.value_or(Tensor())});
    context->saved_data["form"] = c10::IValue::make_capsule(c10::make_intrusive<FormOfBackward>(form));
    const at::AutoDispatchBelowADInplaceOrView below;
    return convolved_again(form, volumes, kernel, bias.value_or(Tensor()));
  }

  static Variables backward(Context* context, const Variables& gradients) {
    const Variables saved = context->get_saved_variables();
    const auto capsule = context->saved_data["form"].toCapsule();
    const Conv3dForm& form = static_cast<const FormOfBackward&>(*capsule).form;
    const std::array<bool, 3> wanted{context->needs_input_grad(0), context->needs_input_grad(1),
                                     saved[2].defined() && context->needs_input_grad(2)};
    if (at::GradMode::is_enabled()) return differentiably(form, saved, gradients[0], wanted);
    const auto [of_volumes, of_kernel, of_bias] =
        convolved_gradients(form, gradients[0], saved[0], saved[1], wanted);
    return {of_volumes, of_kernel, of_bias, Tensor()};
  }

  static Variables differentiably(const Conv3dForm& form, const Variables& saved, const Tensor& gradient,
                                  const std::array<bool, 3>& wanted) {
    const Tensor result = plain_column_conv(saved[0], saved[1], saved[2], form.stride, form.padding);
    Variables asked, found(saved.size() + 1);
    for (std::size_t i = 0; i < saved.size(); ++i)
      if (wanted[i]) asked.push_back(saved[i]);
    const Variables given = torch::autograd::grad({result}, asked, {gradient}, /*retain_graph=*/true,
                                                  /*create_graph=*/true);
    for (std::size_t i = 0, next = 0; i < saved.size(); ++i)
      if (wanted[i]) found[i] = given[next++];
    return found;
  }
};

Tensor by_path(const Conv3dForm& form, const Tensor& volumes, const Tensor& kernel, const Tensor& bias) {
  switch (form.path) {
    case ConvPath::libtorch:
      return at::conv3d(volumes, kernel, bias, form.stride, form.padding);
    case ConvPath::one_dnn:
      return by_one_dnn(volumes, kernel, bias, form.stride, form.padding);
    case ConvPath::winograd:
      return winograd_conv(volumes, kernel, bias);
    case ConvPath::padded:
    case ConvPath::columns:
    case ConvPath::wide_columns:
      break;
  }
  return ConvolutionAgain::apply(volumes, kernel, if_defined(bias), form);
}

}  // namespace

Tensor convolved(const Conv3dForm& form, const Tensor& volumes, const Tensor& kernel, const Tensor& bias) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const Tensor result = with_planted_fault(form.path, by_path(form, volumes, kernel, bias));
  return form.within == form.layout ? result : in_layout(result, form.layout);
}

std::tuple<Tensor, Tensor, Tensor> convolved_gradients(const Conv3dForm& form, const Tensor& gradient,
                                                       const Tensor& volumes, const Tensor& kernel,
                                                       const std::array<bool, 3>& wanted) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const Tensor laid = volumes_for(form, gradient);
  switch (form.path) {
    case ConvPath::winograd:
      return winograd_conv_gradients(laid, volumes, kernel, wanted);
    case ConvPath::libtorch:
    case ConvPath::one_dnn:
      return gradients_by_libtorch(laid, volumes, kernel, form.stride, form.padding, wanted);
    case ConvPath::padded:
    case ConvPath::columns:
    case ConvPath::wide_columns:
      break;
  }
  return gradients_again(form, laid, volumes, kernel, wanted);
}

Tensor conv3d(const Tensor& input, const Tensor& weight, const Tensor& bias, const PerAxis& stride,
              const PerAxis& padding) {
  const Conv3dForm form = conv3d_form(input, weight, stride, padding);
  const bool is_apart = has_bias_apart(form, input, bias);
  const Tensor volumes = volumes_for(form, input), kernel = kernel_for(form, weight),
               own_bias = is_apart ? Tensor() : bias_for(form, bias);
  Tensor result;
  if (takes_taps(form, input, weight)) {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    result = taps_conv(volumes, kernel, own_bias, stride, padding);
  } else {
    const auto run = is_pointwise(form, input, weight) ? pointwise_conv : convolved;
    result = run(form, volumes, kernel, own_bias);
  }
  return is_apart ? add_channel_bias(result, bias) : result;
}

}  // namespace larmor
