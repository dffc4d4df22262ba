#include "larmor/measure/operation_count.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>

#include "larmor/base/ensure.h"

namespace larmor {
namespace {

using Values = c10::ArrayRef<c10::IValue>;

std::mutex counting;  // of what is behind `counted`
OperationCount* counted = nullptr;
thread_local int depth = 0;             // of operators that have called one another
thread_local int arithmetic_depth = 0;  // how many of them are arithmetic: the outermost counts

/// `volume`: what has a channel for each row of `weight`: the output of a convolution, whose weight is
/// [out, in / groups, kernel], and the input of a transposed one, whose weight is [in, out / groups, kernel].
double operations_of_convolution(const at::Tensor& volume, const at::Tensor& weight) {
  const auto voxels = static_cast<double>(volume.numel()) / static_cast<double>(weight.size(0));
  return 2 * voxels * static_cast<double>(weight.numel());
}

/// From (input, weight, bias, stride, padding, dilation, transposed, …) and the output; oneDNN's own has the
/// groups in that place, and is never transposed.
double forward_convolution(Values inputs, Values outputs) {
  constexpr std::size_t transposed_at = 6;
  const bool is_transposed =
      inputs.size() > transposed_at && inputs[transposed_at].isBool() && inputs[transposed_at].toBool();
  return operations_of_convolution((is_transposed ? inputs[0] : outputs[0]).toTensor(), inputs[1].toTensor());
}

/// Of a mask of the gradients that are asked for: those of the volume and of the weight.
int gradients_with_products(const c10::IValue& asked) {
  const auto mask = asked.toBoolList();
  return static_cast<int>(mask[0]) + static_cast<int>(mask[1]);
}

/// From (grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding,
/// groups, output_mask): as much as forward for each of the two gradients that are asked for.
double backward_convolution(Values inputs) {
  constexpr std::size_t transposed_at = 7, mask_at = 10;
  const auto& volume = inputs[inputs[transposed_at].toBool() ? 1 : 0].toTensor();
  return gradients_with_products(inputs[mask_at]) * operations_of_convolution(volume, inputs[2].toTensor());
}

/// From (gradient, volumes, kernel, mask): as much as the sums as they are written would take.
double backward_winograd(Values inputs) {
  return gradients_with_products(inputs[3]) *
         operations_of_convolution(inputs[0].toTensor(), inputs[2].toTensor());
}

/// From (query, key, value, …) [N, heads, tokens, width]: scores, and what is made of the values. Backward,
/// after the gradient of the output, computes the scores again and four products more.
double fused_attention(Values inputs, bool is_backward) {
  const std::size_t first = is_backward ? 1 : 0;
  const auto& query = inputs[first].toTensor();
  const auto& key = inputs[first + 1].toTensor();
  const double product = 2 * static_cast<double>(query.numel()) * static_cast<double>(key.size(-2));
  return product * (is_backward ? 5 : 2);
}

enum class Arithmetic {
  none,
  convolution,
  convolution_backward,
  winograd_backward,
  product,
  product_and_sum,
  attention,
  attention_backward
};

Arithmetic arithmetic_of(std::string_view name) {
  if (name == "aten::convolution" || name == "aten::mkldnn_convolution" || name == "larmor::winograd_conv")
    return Arithmetic::convolution;
  if (name == "aten::convolution_backward") return Arithmetic::convolution_backward;
  if (name == "larmor::winograd_conv_backward") return Arithmetic::winograd_backward;
  if (name == "aten::mm" || name == "aten::bmm" || name == "larmor::product") return Arithmetic::product;
  if (name == "aten::addmm" || name == "aten::baddbmm") return Arithmetic::product_and_sum;
  if (name == "larmor::attention") return Arithmetic::attention;
  if (name == "larmor::attention_backward") return Arithmetic::attention_backward;
  if (!name.starts_with("aten::_scaled_dot_product_") || name.ends_with("_math")) return Arithmetic::none;
  return name.ends_with("_backward") ? Arithmetic::attention_backward : Arithmetic::attention;
}

void add_arithmetic(Arithmetic kind, Values inputs, Values outputs, OperationCount& count) {
  const auto product = [&](std::size_t left) {
    const auto& rows = inputs[left].toTensor();
    return 2 * static_cast<double>(outputs[0].toTensor().numel()) * static_cast<double>(rows.size(-1));
  };
  switch (kind) {
    case Arithmetic::none:
      break;
    case Arithmetic::convolution:
      count.convolution += forward_convolution(inputs, outputs);
      break;
    case Arithmetic::convolution_backward:
      count.convolution += backward_convolution(inputs);
      break;
    case Arithmetic::winograd_backward:
      count.convolution += backward_winograd(inputs);
      break;
    case Arithmetic::product:
      count.product += product(0);
      break;
    case Arithmetic::product_and_sum:
      count.product += product(1);
      break;
    case Arithmetic::attention:
      count.attention += fused_attention(inputs, /*is_backward=*/false);
      break;
    case Arithmetic::attention_backward:
      count.attention += fused_attention(inputs, /*is_backward=*/true);
      break;
  }
}

void add_tensors(const c10::IValue& value, std::vector<at::Tensor>& tensors) {
  if (value.isTensor() && value.toTensor().defined() && value.toTensor().has_storage())
    tensors.push_back(value.toTensor());
  if (!value.isList()) return;
  for (const c10::IValue& entry : value.toListRef()) add_tensors(entry, tensors);
}

std::vector<at::Tensor> tensors_of(Values values) {
  std::vector<at::Tensor> tensors;
  for (const auto& value : values) add_tensors(value, tensors);
  return tensors;
}

double bytes_of(const std::vector<at::Tensor>& tensors) {
  double bytes = 0;
  for (const auto& tensor : tensors) bytes += static_cast<double>(tensor.nbytes());
  return bytes;
}

double traffic_of(std::string_view name, Values inputs, Values outputs) {
  const auto read = tensors_of(inputs), written = tensors_of(outputs);
  const auto is_view = [&](const at::Tensor& output) {
    return std::ranges::any_of(read, [&](const auto& input) { return input.is_alias_of(output); });
  };
  const bool in_place = name.ends_with("_") || name.ends_with("_out");
  if (!in_place && std::ranges::all_of(written, is_view)) return 0;
  if (name.starts_with("aten::empty") || name.starts_with("aten::new_empty")) return 0;
  return bytes_of(read) + bytes_of(written);
}

/// What the end of an operator has to know of its start, when alone its arguments can be seen.
struct Started : at::ObserverContext {
  Arithmetic kind = Arithmetic::none;
  std::vector<c10::IValue> inputs;  // of operators that count
};

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& operation) {
  auto started = std::make_unique<Started>();
  started->kind = arithmetic_of(operation.name());
  const bool is_outermost = depth++ == 0;
  const bool counts = started->kind != Arithmetic::none && arithmetic_depth++ == 0;
  if (is_outermost || counts) started->inputs.assign(operation.inputs().begin(), operation.inputs().end());
  return started;
}

void end(const at::RecordFunction& operation, at::ObserverContext* context) {
  const auto& [kind, inputs] = *static_cast<const Started*>(context);
  if (kind != Arithmetic::none) --arithmetic_depth;
  --depth;
  const Values outputs = operation.outputs();
  const std::lock_guard lock(counting);
  if (counted == nullptr) return;
  // Arithmetic without an output has thrown, as recomputation lets the last operator that it needs.
  if (arithmetic_depth == 0 && !outputs.empty()) add_arithmetic(kind, inputs, outputs, *counted);
  if (depth == 0) counted->bytes += traffic_of(operation.name(), inputs, outputs);
}

}  // namespace

OperationCount count_operations(const std::function<void()>& work) {
  OperationCount count;
  {
    const std::lock_guard lock(counting);
    ensure(counted == nullptr);
    counted = &count;
  }
  const auto handle = at::addGlobalCallback(at::RecordFunctionCallback(begin, end)
                                                .needsInputs(true)
                                                .needsOutputs(true)
                                                .scopes({at::RecordScope::FUNCTION}));
  const auto stop = [&] {
    at::removeCallback(handle);
    const std::lock_guard lock(counting);
    counted = nullptr;
  };
  try {
    work();
  } catch (...) {
    stop();
    throw;
  }
  stop();
  return count;
}

}  // namespace larmor
