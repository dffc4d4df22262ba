#include "larmor/kernels/convolution/upsample_conv.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <vector>

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/conv_transpose3d.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/upsample_nearest3d.h>

#include "larmor/base/ensure.h"
#include "larmor/kernels/convolution/channel_bias.h"
#include "larmor/kernels/convolution/conv3d.h"
#include "larmor/kernels/convolution/upsample_taps_cpu.h"
#include "larmor/kernels/operator.h"
#include "larmor/kernels/parallel_loop.h"

namespace larmor {
namespace {

using at::Tensor;

constexpr int64_t first_axis = 2, axes = 3, taps = 3;
constexpr int64_t shortest_on_small_grid = 4;
constexpr std::array<int64_t, axes> stride{2, 2, 2}, padding{1, 1, 1};

at::ScalarType type_of_sums(const Tensor& weight) {
  return weight.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

/// Neighbours along each axis of space added: one voxel fewer per axis.
Tensor add_neighbours(Tensor value) {
  for (int64_t axis = first_axis; axis < first_axis + axes; ++axis) {
    const int64_t left = value.size(axis) - 1;
    value = value.narrow(axis, 0, left) + value.narrow(axis, 1, left);
  }
  return value;
}

/// [O, C, …] and [C, O, …] change places; each axis of space runs the other way.
Tensor turned(const Tensor& kernel) { return kernel.transpose(0, 1).flip({2, 3, 4}); }

bool is_under_autocast(const Tensor& input) {
  return (input.is_cpu() || input.is_cuda()) && at::autocast::is_autocast_enabled(input.device().type());
}

/// What autocast computes a convolution of `input` in.
at::ScalarType type_of_product(const Tensor& input) {
  const bool is_cast = is_under_autocast(input) && input.scalar_type() != at::kDouble;
  return is_cast ? at::autocast::get_autocast_dtype(input.device().type()) : input.scalar_type();
}

using upsample_taps::Bfloat16;
using upsample_taps::Kernel;

/// Whether loops of our own add taps: on a CPU, where nobody asks for a gradient of what they give. `wide` is
/// the type of the kernel that is convolved with.
bool is_for_tap_loops(const Tensor& weight, at::ScalarType wide) {
  if (at::GradMode::is_enabled() || !weight.is_cpu()) return false;
  const at::ScalarType type = weight.scalar_type();
  return (type == at::kDouble && wide == at::kDouble) ||
         (type == at::kFloat && (wide == at::kFloat || wide == at::kBFloat16));
}

/// Of a tensor [in, out, taps along each axis] that is whole in memory in one of the layouts.
template <class Element>
Kernel<Element> kernel_in(Element* numbers, const Tensor& tensor) {
  return {
      .numbers = numbers, .of_in = tensor.stride(0), .of_out = tensor.stride(1), .of_tap = tensor.stride(4)};
}

/// Both kernels are [in, out, …].
template <class Number, class Element>
void add_taps(const Tensor& narrow, const Tensor& wide) {
  const upsample_taps::Channels channels{.in = narrow.size(0), .out = narrow.size(1)};
  const auto from = kernel_in(static_cast<const Number*>(narrow.const_data_ptr()), narrow);
  const auto to = kernel_in(static_cast<Element*>(wide.mutable_data_ptr()), wide);
  parallel_loop(0, channels.in, /*grain=*/4,
                [&](int64_t first, int64_t end) { upsample_taps::widen(channels, from, first, end, to); });
}

template <class Number, class Element>
void add_gradients_of_taps(const Tensor& wide, const Tensor& narrow) {
  const upsample_taps::Channels channels{.in = narrow.size(0), .out = narrow.size(1)};
  const auto from = kernel_in(static_cast<const Element*>(wide.const_data_ptr()), wide);
  const auto to = kernel_in(static_cast<Number*>(narrow.mutable_data_ptr()), narrow);
  parallel_loop(0, channels.in, /*grain=*/4,
                [&](int64_t first, int64_t end) { upsample_taps::narrow(channels, from, first, end, to); });
}

/// The kernel in the type and layout of `input`. A kernel in another layout would decide the result's.
Tensor kernel_for(const Tensor& input, const Tensor& weight) {
  const at::ScalarType type = input.scalar_type();
  const at::MemoryFormat layout = input.suggest_memory_format();
  if (!is_for_tap_loops(weight, type)) return doubling_kernel(weight).to(type).contiguous(layout);
  const Tensor wide = at::empty({weight.size(1), weight.size(0), 4, 4, 4}, input.options(), layout);
  const auto run = type == at::kDouble  ? add_taps<double, double>
                   : type == at::kFloat ? add_taps<float, float>
                                        : add_taps<float, Bfloat16>;
  run(weight.contiguous().transpose(0, 1), wide);
  return wide;
}

/// The gradient of the weight, from that of kernel_for()'s kernel: the adjoint of adding neighbours adds
/// neighbours.
Tensor gradient_of_weight(const Tensor& of_kernel, const Tensor& weight) {
  const at::ScalarType type = of_kernel.scalar_type();
  if (!is_for_tap_loops(weight, type))
    return turned(add_neighbours(of_kernel.to(type_of_sums(weight)))).to(weight.scalar_type());
  const Tensor narrow = at::empty(weight.sizes(), weight.options());
  const auto run = type == at::kDouble  ? add_gradients_of_taps<double, double>
                   : type == at::kFloat ? add_gradients_of_taps<float, float>
                                        : add_gradients_of_taps<float, Bfloat16>;
  run(of_kernel.contiguous(of_kernel.suggest_memory_format()), narrow.transpose(0, 1));
  return narrow;
}

/// Keeps the weight, which is there anyway, and not the kernel, which is 64 / 27 as large: it is added up
/// again in backward.
struct SmallGridConvolution : GradientNode<SmallGridConvolution> {
  static Tensor forward(Context* context, const Tensor& input, const Tensor& weight,
                        const std::optional<Tensor>& bias) {
    context->saved_data["has_bias"] = bias.has_value();
    context->save_for_backward({input, weight});
    return at::conv_transpose3d(input, kernel_for(input, weight), bias, stride, padding)
        .contiguous(input.suggest_memory_format());
  }

  static Variables backward(Context* context, const Variables& gradients) {
    const Variables saved = context->get_saved_variables();
    const Tensor &input = saved[0], &weight = saved[1];
    const bool has_bias = context->saved_data["has_bias"].toBool();
    // oneDNN adds up a transposed convolution's gradient of the bias by its reference loops, which take as
    // long as a third of the rest.
    const std::array<bool, 3> wanted{context->needs_input_grad(0), context->needs_input_grad(1), false};
    const std::array<int64_t, 1> bias_size{weight.size(0)};
    const std::array<int64_t, axes> dilation{1, 1, 1}, output_padding{0, 0, 0};
    auto [of_input, of_kernel, no_bias] = at::convolution_backward(
        gradients[0], input, kernel_for(input, weight), bias_size, stride, padding, dilation,
        /*transposed=*/true, output_padding, /*groups=*/1, wanted);
    const Tensor of_bias = has_bias && context->needs_input_grad(2)
                               ? at::sum(gradients[0], {0, 2, 3, 4}, /*keepdim=*/false, type_of_sums(weight))
                                     .to(gradients[0].scalar_type())
                               : Tensor();
    return {of_input, wanted[1] ? gradient_of_weight(of_kernel, weight) : Tensor(), of_bias};
  }
};

}  // namespace

at::Tensor doubled(const at::Tensor& input) {
  const std::vector<double> twice(axes, 2.0);
  return at::upsample_nearest3d(input, at::OptionalIntArrayRef(), twice);
}

bool is_for_small_grid(const at::Tensor& input) {
  const at::IntArrayRef size = input.sizes().slice(first_axis);
  return *std::min_element(size.begin(), size.end()) >= shortest_on_small_grid;
}

// Upsampling repeats a voxel twice, so it adds neighbouring taps of the kernel; zeros stand around them.
at::Tensor doubling_kernel(const at::Tensor& weight) {
  return add_neighbours(at::constant_pad_nd(turned(weight.to(type_of_sums(weight))), {1, 1, 1, 1, 1, 1}));
}

at::Tensor upsample_conv(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias) {
  ensure(input.dim() == first_axis + axes &&
         weight.sizes().slice(first_axis) == at::IntArrayRef({taps, taps, taps}));
  if (!is_for_small_grid(input)) return conv3d(doubled(input), weight, bias, {1, 1, 1}, {1, 1, 1});
  const at::ScalarType type = type_of_product(input);
  const bool is_apart = bias.defined() && is_bias_apart(input, type);
  const Tensor result = SmallGridConvolution::apply(
      input.to(type), weight, bias.defined() && !is_apart ? std::optional(bias.to(type)) : std::nullopt);
  return is_apart ? add_channel_bias(result, bias) : result;
}

}  // namespace larmor
