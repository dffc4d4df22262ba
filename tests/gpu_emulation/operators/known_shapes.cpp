#include "tests/gpu_emulation/operators/known_shapes.h"

#include <string>
#include <string_view>
#include <unordered_map>

#include <ATen/ExpandUtils.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

namespace emulated {
namespace {

using c10::IValue;
using Sizes = std::vector<int64_t>;
using Values = std::vector<IValue>;
using Rule = void (*)(Values& values);

int64_t at_axis(const Sizes& values, int64_t axis) {
  return values[values.size() == 1 ? 0 : static_cast<size_t>(axis - 2)];
}

/// Convolutions come out in the layout that cuDNN gives.
at::MemoryFormat layout_of(const at::Tensor& input, const at::Tensor& weight) {
  const auto of_input = input.suggest_memory_format();
  return of_input != at::MemoryFormat::Contiguous ? of_input : weight.suggest_memory_format();
}

void convolve(Values& values) {
  const at::Tensor input = values[0].toTensor(), weight = values[1].toTensor();
  const Sizes stride = values[3].toIntVector(), padding = values[4].toIntVector(),
              dilation = values[5].toIntVector(), more = values[7].toIntVector();
  const bool is_transposed = values[6].toBool();
  Sizes sizes{input.size(0), is_transposed ? weight.size(1) * values[8].toInt() : weight.size(0)};
  for (int64_t axis = 2; axis < input.dim(); ++axis) {
    const int64_t reach = at_axis(dilation, axis) * (weight.size(axis) - 1), length = input.size(axis);
    const int64_t step = at_axis(stride, axis), around = 2 * at_axis(padding, axis);
    sizes.push_back(is_transposed ? (length - 1) * step - around + reach + at_axis(more, axis) + 1
                                  : (length + around - reach - 1) / step + 1);
  }
  values = {at::empty(sizes, input.options().memory_format(layout_of(input, weight)))};
}

void convolve_backward(Values& values) {
  const at::Tensor input = values[1].toTensor(), weight = values[2].toTensor();
  const auto wanted = values[10].toBoolList();
  const auto layout = layout_of(input, weight);
  const int64_t channels = values[0].toTensor().size(1);
  values = {wanted[0] ? at::empty(input.sizes(), input.options().memory_format(layout)) : at::Tensor(),
            wanted[1] ? at::empty(weight.sizes(), weight.options().memory_format(layout)) : at::Tensor(),
            wanted[2] ? at::empty({channels}, weight.options()) : at::Tensor()};
}

/// Gradients of a norm over [N, C, ...]: of its input, weight and bias.
void norm_backward(Values& values) {
  const at::Tensor input = values[1].toTensor();
  const auto wanted = values.back().toBoolList();
  const int64_t channels = input.size(1);
  const auto of_channels =
      input.options().dtype(input.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
  values = {wanted[0] ? at::empty_like(input) : at::Tensor(),
            wanted[1] ? at::empty({channels}, of_channels) : at::Tensor(),
            wanted[2] ? at::empty({channels}, of_channels) : at::Tensor()};
}

/// The means and deviations of training.
void batch_norm(Values& values) {
  const at::Tensor input = values[0].toTensor();
  const int64_t channels = values[5].toBool() ? input.size(1) : 0;
  const auto options = input.options().dtype(input.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
  values = {at::empty_like(input), at::empty({channels}, options), at::empty({channels}, options)};
}

void layer_norm_backward(Values& values) {
  const at::Tensor input = values[1].toTensor();
  const auto wanted = values.back().toBoolList();
  const Sizes last = values[2].toIntVector();
  values = {wanted[0] ? at::empty_like(input) : at::Tensor(),
            wanted[1] ? at::empty(last, input.options()) : at::Tensor(),
            wanted[2] ? at::empty(last, input.options()) : at::Tensor()};
}

void max_pool(Values& values) {
  const at::Tensor input = values[0].toTensor();
  const Sizes kernel = values[1].toIntVector(), padding = values[3].toIntVector(),
              dilation = values[4].toIntVector();
  const Sizes stride = values[2].toIntVector().empty() ? kernel : values[2].toIntVector();
  Sizes sizes{input.size(0), input.size(1)};
  for (int64_t axis = 2; axis < input.dim(); ++axis) {
    const int64_t rest = input.size(axis) + 2 * at_axis(padding, axis) -
                         at_axis(dilation, axis) * (at_axis(kernel, axis) - 1) - 1;
    const int64_t step = at_axis(stride, axis);
    sizes.push_back((rest + (values[5].toBool() ? step - 1 : 0)) / step + 1);
  }
  const auto options = input.options().memory_format(input.suggest_memory_format());
  values = {at::empty(sizes, options), at::empty(sizes, options.dtype(at::kLong))};
}

void like_first(Values& values) { values = {at::empty_like(values[0].toTensor())}; }
void like_second(Values& values) { values = {at::empty_like(values[1].toTensor())}; }
void number_of_first(Values& values) { values = {at::empty({}, values[0].toTensor().options())}; }

void select_by_condition(Values& values) {
  const at::Tensor a = values[1].toTensor(), b = values[2].toTensor();
  const auto sizes = at::infer_size(at::infer_size(values[0].toTensor().sizes(), a.sizes()), b.sizes());
  values = {at::empty(sizes, a.dim() > 0 ? a.options() : b.options())};
}

void embed_backward(Values& values) {
  const at::Tensor gradient = values[0].toTensor();
  values = {at::empty({values[2].toInt(), gradient.size(-1)}, gradient.options())};
}

Rule rule_for(const c10::OperatorName& name) {
  static const std::unordered_map<std::string_view, Rule> rules{
      {"aten::convolution", convolve},
      {"aten::convolution_backward", convolve_backward},
      {"aten::native_batch_norm", batch_norm},
      {"aten::native_batch_norm_backward", norm_backward},
      {"aten::native_group_norm_backward", norm_backward},
      {"aten::native_layer_norm_backward", layer_norm_backward},
      {"aten::max_pool3d_with_indices", max_pool},
      {"aten::max_pool3d_with_indices_backward", like_second},
      {"aten::_adaptive_avg_pool3d_backward", like_second},
      {"aten::embedding_dense_backward", embed_backward},
      {"aten::flip", like_first},
      {"aten::roll", like_first}};
  const auto found = rules.find(name.name);
  if (found != rules.end() && name.overload_name != "out") return found->second;
  if (name.name == "aten::where" && name.overload_name == "self") return select_by_condition;
  const bool is_extreme = name.name == "aten::max" || name.name == "aten::min";
  return is_extreme && name.overload_name.empty() ? number_of_first : nullptr;
}

/// The results of an operator that only writes tensors that it was given: each is as large as all that is
/// read together.
bool gives_outputs(const c10::OperatorHandle& op, Values& values) {
  if (op.schema().returns().empty()) {  // a fused optimizer
    values.clear();
    return true;
  }
  const auto& parameters = op.schema().arguments();
  Values outputs;
  Sizes sizes;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!values[i].isTensor() || !values[i].toTensor().defined()) continue;
    const auto* const alias = parameters[i].alias_info();
    if (alias != nullptr && alias->isWrite()) {
      outputs.push_back(values[i]);
    } else {
      sizes = at::infer_size(sizes, values[i].toTensor().sizes());
    }
  }
  if (outputs.size() != 1 || op.schema().returns().size() != 1) return false;
  if (op.operator_name().overload_name.ends_with("out")) outputs[0].toTensor().resize_(sizes);
  values = outputs;
  return true;
}

}  // namespace

bool gives_known_shapes(const c10::OperatorHandle& op, Values& values) {
  if (const Rule rule = rule_for(op.operator_name())) {
    rule(values);
    return true;
  }
  // libtorch takes a kernel for meta, or one that is composed of other operators.
  for (const auto key :
       {c10::DispatchKey::Meta, c10::DispatchKey::CompositeExplicitAutogradNonFunctional,
        c10::DispatchKey::CompositeExplicitAutograd, c10::DispatchKey::CompositeImplicitAutograd}) {
    if (op.hasKernelForDispatchKey(key)) return false;
  }
  return gives_outputs(op, values);
}

}  // namespace emulated
