// Shapes of tensors in messages.
#pragma once

#include <string>

#include <ATen/core/Tensor.h>

namespace larmor::nn {

/// "[2, 1, 64, 64, 64]"
std::string shape_text(at::IntArrayRef shape);

}  // namespace larmor::nn
