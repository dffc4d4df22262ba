// Shapes that libtorch's C++ half does not know without numbers: it has them in Python, or not at all.
#pragma once

#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>

namespace emulated {

/// Replaces the arguments, tensors of device meta, by results. False where libtorch knows the shapes itself.
/// An operator of which nobody knows them is left to libtorch, which says so.
bool gives_known_shapes(const c10::OperatorHandle& op, std::vector<c10::IValue>& values);

}  // namespace emulated
