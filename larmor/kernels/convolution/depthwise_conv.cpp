#include "larmor/kernels/convolution/depthwise_conv.h"

#include <array>
#include <optional>

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>

#include "larmor/base/ensure.h"
#include "larmor/kernels/convolution/depthwise_conv_cpu.h"
#include "larmor/kernels/operator.h"
#include "larmor/kernels/parallel_loop.h"

namespace larmor {
namespace depthwise {
namespace {

using at::Tensor;
using WeightGradient = Operator<"depthwise_conv_weight", Tensor(const Tensor& gradient, const Tensor& input)>;

constexpr std::array<int64_t, 2> strides{1, 1}, paddings{taps / 2, taps / 2}, dilations{1, 1}, no_more{0, 0};

Tensor convolve(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  return at::conv2d(input, weight, bias, strides, paddings, dilations, /*groups=*/input.size(1));
}

Tensor empty_weight(const Tensor& gradient) {
  return at::empty({gradient.size(1), 1, taps, taps}, gradient.options(), at::MemoryFormat::Contiguous);
}

Tensor differentiate_weight_on_cpu(const Tensor& gradient, const Tensor& input) {
  ensure(gradient.dim() == 4 && gradient.sizes() == input.sizes() && input.scalar_type() == at::kFloat);
  const Tensor slopes = gradient.to(at::kFloat).contiguous(at::MemoryFormat::ChannelsLast),
               values = input.contiguous(at::MemoryFormat::ChannelsLast), of_weight = empty_weight(gradient);
  const Shape shape{
      .samples = input.size(0), .height = input.size(2), .width = input.size(3), .channels = input.size(1)};
  const auto* const from = values.const_data_ptr<float>();
  const auto* const by = slopes.const_data_ptr<float>();
  auto* const to = of_weight.mutable_data_ptr<float>();
  parallel_loop(0, tasks_of(shape), /*grain=*/1,
                [&](int64_t first, int64_t end) { differentiate_weights(shape, from, by, first, end, to); });
  return of_weight;
}

Tensor differentiate_weight_on_meta(const Tensor& gradient, const Tensor& /*input*/) {
  return empty_weight(gradient);
}

const WeightGradient::Registration registered("(Tensor gradient, Tensor input) -> Tensor",
                                              {.cpu = differentiate_weight_on_cpu,
                                               .meta = differentiate_weight_on_meta});

struct DifferentiableConvolution : GradientNode<DifferentiableConvolution> {
  static Tensor forward(Context* context, const Tensor& input, const Tensor& weight, const Tensor& bias) {
    context->save_for_backward({input, weight});
    return convolve(input, weight, bias);
  }

  static Variables backward(Context* context, const Variables& gradients) {
    const Variables saved = context->get_saved_variables();
    const Tensor &input = saved[0], &weight = saved[1], &gradient = gradients[0];
    const bool differentiates = at::GradMode::is_enabled();  // the gradient itself
    const std::array<bool, 3> by_libtorch{context->needs_input_grad(0),
                                          differentiates && context->needs_input_grad(1), false};
    Tensor of_input, of_weight, of_bias;
    if (by_libtorch[0] || by_libtorch[1]) {
      std::tie(of_input, of_weight, of_bias) =
          at::convolution_backward(gradient, input, weight, std::nullopt, strides, paddings, dilations,
                                   /*transposed=*/false, no_more, /*groups=*/input.size(1), by_libtorch);
    }
    if (context->needs_input_grad(1) && !differentiates)
      of_weight = WeightGradient::call_below_autograd(gradient, input);
    if (context->needs_input_grad(2)) of_bias = gradient.sum(at::IntArrayRef({0, 2, 3}));
    return {of_input, of_weight, of_bias};
  }
};

}  // namespace
}  // namespace depthwise

bool is_depthwise_by_loop(const at::Tensor& input, const at::Tensor& weight) {
  return input.is_cpu() && input.scalar_type() == at::kFloat && weight.scalar_type() == at::kFloat &&
         !at::autocast::is_autocast_enabled(at::kCPU) && input.size(1) % depthwise::fewest_lanes == 0 &&
         input.is_contiguous(at::MemoryFormat::ChannelsLast);
}

at::Tensor depthwise_conv(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias) {
  ensure(input.dim() == 4 &&
         weight.sizes() == at::IntArrayRef({input.size(1), 1, depthwise::taps, depthwise::taps}));
  if (!is_depthwise_by_loop(input, weight)) return depthwise::convolve(input, weight, bias);
  return depthwise::DifferentiableConvolution::apply(input, weight, bias);
}

}  // namespace larmor
