// A module's weights under their state-dict names.
#pragma once

#include <string>
#include <vector>

#include "larmor/device/tensors/tensor_file.h"

namespace torch::nn {
class Module;
}

namespace larmor {

/// Parameters and buffers under the names of PyTorch's state_dict. The tensors share storage with the module.
NamedTensors state_dict(const torch::nn::Module& module);

/// Copies into the module. Every name and shape has to match; throws Error (checkpoint) listing all that
/// do not.
void load_state_dict(torch::nn::Module& module, const NamedTensors& tensors);

int64_t parameter_count(const torch::nn::Module& module);

}  // namespace larmor
