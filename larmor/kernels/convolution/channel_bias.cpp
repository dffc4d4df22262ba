#include "larmor/kernels/convolution/channel_bias.h"

#include <numeric>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/sum.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "larmor/base/ensure.h"
#include "larmor/kernels/convolution/channel_bias_operators.h"

namespace larmor {
namespace channel_bias {
namespace {

using at::Tensor;
using AddOperator = void(const Tensor&, const Tensor&);
using SumsOperator = Tensor(const Tensor&, bool, at::ScalarType);

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

template <class Signature, class... Arguments>
auto call(const char* name, const Arguments&... arguments) {
  static const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
  const at::AutoDispatchBelowADInplaceOrView below;
  return handle.call(arguments...);
}

// In the source that the operators are called through: a program that is linked from archives has them then.
TORCH_LIBRARY_FRAGMENT(larmor, library) {
  library.def("add_channel_bias_(Tensor(a!) input, Tensor bias) -> ()");
  library.def("channel_sums(Tensor gradient, bool of_each_sample, ScalarType result) -> Tensor");
}

TORCH_LIBRARY_IMPL(larmor, CPU, library) {
  library.impl("add_channel_bias_", add_by_libtorch);
  library.impl("channel_sums", sums_by_libtorch);
}

TORCH_LIBRARY_IMPL(larmor, CUDA, library) {
  library.impl("add_channel_bias_", add_on_gpu);
  library.impl("channel_sums", sums_on_gpu);
}

TORCH_LIBRARY_IMPL(larmor, Meta, library) {
  library.impl("add_channel_bias_", add_on_meta);
  library.impl("channel_sums", sums_on_meta);
}

struct AddedBias : torch::autograd::Function<AddedBias> {
  using Context = torch::autograd::AutogradContext;
  using Variables = torch::autograd::variable_list;

  static Tensor forward(Context* context, Tensor input, const Tensor& bias) {
    context->saved_data["of_each_sample"] = bias.dim() == 2;
    context->saved_data["type"] = static_cast<int64_t>(bias.scalar_type());
    call<AddOperator>("larmor::add_channel_bias_", input, bias);
    context->mark_dirty({input});
    return input;
  }

  static Variables backward(Context* context, const Variables& gradients) {
    if (!context->needs_input_grad(1)) return {gradients[0], Tensor()};
    const bool of_each_sample = context->saved_data["of_each_sample"].toBool();
    const auto type = static_cast<at::ScalarType>(context->saved_data["type"].toInt());
    const Tensor of_bias =
        at::GradMode::is_enabled()
            ? sums_by_libtorch(gradients[0], of_each_sample, type)
            : call<SumsOperator>("larmor::channel_sums", gradients[0], of_each_sample, type);
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
