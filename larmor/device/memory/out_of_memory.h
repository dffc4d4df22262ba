// Whether memory has run out: the one failure of a step that a smaller micro-batch can mend.
#pragma once

#include <exception>
#include <string>

#include <c10/core/Device.h>

namespace larmor {

/// Whether `failure` says that a device, or the host, had no memory for a tensor. libtorch words it
/// differently on each.
bool is_out_of_memory(const std::exception_ptr& failure);

/// One line: how much was asked for and how much there is, without libtorch's stack and its advice on
/// variables. Requires: is_out_of_memory(failure).
std::string describe_out_of_memory(const std::exception_ptr& failure);

/// Gives the device's freed memory back, so that pieces of other sizes can be cut from it; nothing on a CPU.
void release_cached_memory(c10::Device device);

}  // namespace larmor
