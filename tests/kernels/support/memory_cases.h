// Operators of random shapes on memory that holds no numbers, beside float64: what rests on memory that
// nobody wrote shows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace larmor::testing {

/// Case `index` of all: an operator (convolution, also of pictures, normed convolution, linear layer,
/// pooling, depthwise or upsampling convolution), its shape, layout, strides, paddings and type are drawn
/// from it. Gives what was wrong with it, nothing where output and gradients are right and nothing was
/// written beside them.
std::optional<std::string> fault_of_memory_case(uint64_t index);

/// The same for convolutions with a stride of their own along each axis alone, in bfloat16 where that is
/// computed.
std::optional<std::string> fault_of_strided_case(uint64_t index);

/// The same for 3-D convolutions as libtorch computes them where it is asked without conv3d().
std::optional<std::string> fault_of_libtorch_case(uint64_t index);

/// Whether oneDNN computes in bfloat16 here; ONEDNN_MAX_CPU_ISA may say that it does not.
bool has_bf16();

}  // namespace larmor::testing
