// What one call of an operator sees of tensors on a card: tensors of the host over the same bytes, and the
// way back.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include "tests/gpu_emulation/operators/results.h"
#include "tests/gpu_emulation/runtime/runtime.h"

namespace emulated {

class HostViews {
 public:
  /// `in_float32`: 16-bit numbers are computed in float32, as cuDNN and cuBLAS add them up.
  HostViews(Work& work, Results& results, bool in_float32)
      : work_(work), results_(results), in_float32_(in_float32) {}

  c10::IValue to_host(const c10::IValue& value, bool is_written);
  c10::IValue to_device(const c10::IValue& value);
  /// Gives tensors that the operator has resized, or computed in float32, what became of them.
  void write_back();

 private:
  at::Tensor view_of(const at::Tensor& tensor, bool is_written);
  at::Tensor same_bytes(const at::Tensor& tensor);
  at::Tensor bring_back(const at::Tensor& result);

  Work& work_;
  Results& results_;
  bool in_float32_;
  at::ScalarType narrow_ = at::kFloat;  // what results are rounded to
  std::unordered_map<c10::StorageImpl*, c10::Storage> storages_;
  std::unordered_map<c10::StorageImpl*, at::Tensor>
      owners_;  // of the host's storages: the tensor that it views
  std::unordered_map<c10::TensorImpl*, at::Tensor> views_, originals_;
  std::vector<std::pair<at::Tensor, at::Tensor>> pairs_;  // the tensor, and what the operator sees of it
};

/// The bytes from a tensor's first element to its last one.
size_t extent_of(const at::Tensor& tensor);

/// Calls visit(tensor) for all tensors of a value.
template <class Visit>
void for_each_tensor(const c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) for_each_tensor(element, visit);
  }
}

/// Whether tensors of a value are masks.
bool holds_mask(const c10::IValue& value);

}  // namespace emulated
