// The memory under a tensor, given back and taken again while the tensor and all its views live on.
#pragma once

#include <ATen/core/Tensor.h>

namespace larmor {

/// Frees the memory of `tensor` and of everything that shares it. Whoever reads it before restore_memory()
/// gets an error, or garbage where the library does not look.
void release_memory(const at::Tensor& tensor);
/// Gives the tensor as much memory as `tensor` has elements, with any values. Autograd does not count it as a
/// change.
void restore_memory(const at::Tensor& tensor);

}  // namespace larmor
