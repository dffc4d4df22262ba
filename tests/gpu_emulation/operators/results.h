// The new tensors of a card that a call of an operator gives.
#pragma once

#include <cstddef>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

namespace emulated {

class Results {
 public:
  /// libtorch's allocator makes them.
  explicit Results(c10::Device device) : device_(device) {}
  /// They are those that the call gave when it was recorded, over the same memory.
  Results(c10::Device device, std::vector<at::Tensor> recorded)
      : device_(device), is_again_(true), tensors_(std::move(recorded)) {}

  /// The next of them, of this shape, layout and type. A call that is repeated and gives another shape ends
  /// the process.
  at::Tensor next(const at::Tensor& like);
  const std::vector<at::Tensor>& all() const { return tensors_; }

 private:
  at::Tensor repeated(const at::Tensor& like);

  c10::Device device_;
  bool is_again_ = false;
  size_t given_ = 0;  // of those that were recorded
  std::vector<at::Tensor> tensors_;
};

}  // namespace emulated
