#include "larmor/kernels/convolution/channel_bias.h"

#include <numeric>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/sum.h>

#include "larmor/base/ensure.h"
#include "larmor/kernels/convolution/channel_bias_operators.h"
#include "larmor/kernels/operator.h"

namespace larmor {
namespace channel_bias {
namespace {

using at::Tensor;
using AddOperator = Operator<"add_channel_bias_", void(const Tensor& input, const Tensor& bias)>;
using SumsOperator =
    Operator<"channel_sums", Tensor(const Tensor& gradient, bool of_each_sample, at::ScalarType result)>;

/// [1, C, 1, …] or [N, C, 1, …] beside `input`.
Tensor beside(const Tensor& bias, const Tensor& input) {
  std::vector<int64_t> sizes(static_cast<size_t>(input.dim()), 1);
  sizes[1] = input.size(1);
  if (bias.dim() == 2) sizes[0] = input.size(0);
  return bias.reshape(sizes);
}

/// Differentiable.
Tensor sums_by_libtorch(const Tensor& gradient, bool of_each_sample, at::ScalarType result) {
  std::vector<int64_t> axes(static_cast<size_t>(gradient.dim()) - 2);
  std::iota(axes.begin(), axes.end(), 2);
  if (!of_each_sample) axes.insert(axes.begin(), 0);
  return at::sum(gradient, axes, /*keepdim=*/false, result);
}

void add_by_libtorch(const Tensor& input, const Tensor& bias) { input.add_(beside(bias, input)); }

void add_on_meta(const Tensor& /*input*/, const Tensor& /*bias*/) {}

Tensor sums_on_meta(const Tensor& gradient, bool of_each_sample, at::ScalarType result) {
  std::vector<int64_t> sizes{gradient.size(1)};
  if (of_each_sample) sizes.insert(sizes.begin(), gradient.size(0));
  return at::empty(sizes, gradient.options().dtype(result));
}

const AddOperator::Registration adds("(Tensor(a!) input, Tensor bias) -> ()",
                                     {.cpu = add_by_libtorch, .cuda = add_on_gpu, .meta = add_on_meta});
const SumsOperator::Registration sums("(Tensor gradient, bool of_each_sample, ScalarType result) -> Tensor",
                                      {.cpu = sums_by_libtorch, .cuda = sums_on_gpu, .meta = sums_on_meta});

struct AddedBias : GradientNode<AddedBias> {
  static Tensor forward(Context* context, Tensor input, const Tensor& bias) {
    context->saved_data["of_each_sample"] = bias.dim() == 2;
    context->saved_data["type"] = static_cast<int64_t>(bias.scalar_type());
    AddOperator::call_below_autograd(input, bias);
    context->mark_dirty({input});
    return input;
  }

  static Variables backward(Context* context, const Variables& gradients) {
    if (!context->needs_input_grad(1)) return {gradients[0], Tensor()};
    const bool of_each_sample = context->saved_data["of_each_sample"].toBool();
    const auto type = static_cast<at::ScalarType>(context->saved_data["type"].toInt());
    const Tensor of_bias = at::GradMode::is_enabled()
                               ? sums_by_libtorch(gradients[0], of_each_sample, type)
                               : SumsOperator::call_below_autograd(gradients[0], of_each_sample, type);
    return {gradients[0], of_bias};
  }
};

}  // namespace
}  // namespace channel_bias

bool is_bias_apart(const at::Tensor& input, at::ScalarType type) {
  return input.is_cuda() && c10::isReducedFloatingType(type);
}

at::Tensor add_channel_bias(const at::Tensor& input, const at::Tensor& bias) {
  ensure(input.dim() >= 2 && (bias.dim() == 1 || (bias.dim() == 2 && bias.size(0) == input.size(0))) &&
         bias.size(-1) == input.size(1));
  if (is_bias_apart(input, input.scalar_type())) return channel_bias::AddedBias::apply(input, bias);
  return input.add_(channel_bias::beside(bias, input));
}

}  // namespace larmor
