#include "tests/gpu_emulation/operators/hollow.h"

#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/ops/empty_strided.h>

#include "tests/gpu_emulation/operators/host_views.h"
#include "tests/gpu_emulation/operators/known_shapes.h"

namespace emulated {
namespace {

using c10::IValue;

bool is_small(const at::Tensor& tensor) { return tensor.numel() <= most_computed_numbers; }

at::Tensor zeros_where_small(at::Tensor tensor, Work& work) {
  if (!tensor.defined() || !is_small(tensor) || tensor.numel() == 0) return tensor;
  work.writes(tensor.const_data_ptr(), extent_of(tensor));
  std::memset(host_address(tensor.const_data_ptr()), 0, extent_of(tensor));
  return tensor;
}

/// The shapes that a call sees, and the way back to tensors of the card.
class Shapes {
 public:
  Shapes(Work& work, Results& results) : work_(work), results_(results) {}

  IValue to_shapes(const IValue& value, bool is_written) {
    if (value.isTensor()) return shape_of(value.toTensor(), is_written);
    if (value.isDevice() && value.toDevice().is_cuda()) return c10::Device(c10::kMeta);
    if (value.isGenerator()) return {};
    if (!value.isList()) return value;
    auto list = value.toList().copy();
    for (size_t i = 0; i < list.size(); ++i) list.set(i, to_shapes(list.get(i), is_written));
    return list;
  }
  IValue to_device(const IValue& value) {
    if (value.isTensor()) return result_of(value.toTensor());
    if (!value.isList()) return value;
    auto list = value.toList().copy();
    for (size_t i = 0; i < list.size(); ++i) list.set(i, to_device(list.get(i)));
    return list;
  }
  /// Outputs that the operator has given a size.
  void resize_outputs() {
    for (const auto& [original, shape] : written_) {
      if (original.sizes() != shape.sizes()) original.resize_(shape.sizes());
      zeros_where_small(original, work_);
    }
  }

 private:
  at::Tensor shape_of(const at::Tensor& tensor, bool is_written) {
    if (!tensor.defined()) return tensor;
    if (tensor.is_cuda()) {
      is_written ? work_.writes(tensor.const_data_ptr(), extent_of(tensor))
                 : work_.reads(tensor.const_data_ptr(), extent_of(tensor));
    }
    at::Tensor& shape = shapes_[tensor.unsafeGetTensorImpl()];
    if (!shape.defined()) {
      shape = at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(c10::kMeta));
      if (tensor.unsafeGetTensorImpl()->is_wrapped_number())
        shape.unsafeGetTensorImpl()->set_wrapped_number(true);
      originals_.emplace(shape.unsafeGetTensorImpl(), tensor);
    }
    if (is_written) written_.emplace_back(tensor, shape);
    return shape;
  }
  at::Tensor result_of(const at::Tensor& shape) {
    if (!shape.defined() || !shape.is_meta()) return shape;
    const auto known = originals_.find(shape.unsafeGetTensorImpl());
    if (known != originals_.end()) return known->second;
    return zeros_where_small(results_.next(shape), work_);
  }

  Work& work_;
  Results& results_;
  std::unordered_map<c10::TensorImpl*, at::Tensor> shapes_, originals_;
  std::vector<std::pair<at::Tensor, at::Tensor>> written_;
};

}  // namespace

bool is_computed(const c10::OperatorHandle& op, const std::vector<IValue>& arguments) {
  if (op.operator_name().name == "aten::_local_scalar_dense") return true;
  bool all_small = true, some = false;
  for (const IValue& argument : arguments) {
    for_each_tensor(argument, [&](const at::Tensor& tensor) {
      some = some || tensor.numel() > 0;
      all_small = all_small && is_small(tensor);
    });
  }
  return some && all_small;
}

torch::jit::Stack give_shapes(const Call& call, Work& work, Results& results) {
  const auto& parameters = call.op.schema().arguments();
  Shapes shapes(work, results);
  std::vector<IValue> values;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto* const alias = parameters[i].alias_info();
    values.push_back(shapes.to_shapes(call.arguments[i], alias != nullptr && alias->isWrite()));
  }
  if (!gives_known_shapes(call.op, values)) call.op.callBoxed(&values);
  shapes.resize_outputs();
  for (IValue& value : values) value = shapes.to_device(value);
  return values;
}

}  // namespace emulated
