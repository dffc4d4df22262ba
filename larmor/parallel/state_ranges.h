// Names for parts of a parameter's state, so that a checkpoint of any number of ranks opens with any other:
// "exp_avg/decoder.conv.weight[128:256]" holds elements 128 to 255, in row-major order.
#pragma once

#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

#include "larmor/device/state.h"
#include "larmor/device/tensor_file.h"

namespace larmor {

std::string ranged_name(const std::string& name, int64_t first, int64_t end);

/// Parts under ranged names become one flat tensor each, under the plain name; other tensors stay as they
/// are. Throws Error (checkpoint) where elements are missing or come twice.
NamedTensors join_ranges(NamedTensors tensors);

/// The state `name` of a parameter shaped `like`, as a flat tensor, whatever form the checkpoint has it in.
/// Throws Error (checkpoint) for another number of elements.
at::Tensor flat_state(const StateReader& reader, const std::string& name, const at::Tensor& like);

}  // namespace larmor
