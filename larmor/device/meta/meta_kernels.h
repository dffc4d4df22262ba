// The meta device: tensors with shapes and types but no values. A network that lives there can be asked what
// a step of it would take, in milliseconds and before there is any data.
#pragma once

namespace torch::nn {
class Module;
}

namespace larmor {

/// Teaches libtorch what it has of meta tensors in Python alone: forward and backward passes of convolutions,
/// norms, poolings, attention and some more. Once per process; later calls do nothing. Thread-safe.
void register_meta_kernels();

/// Parameters and buffers stay the same tensors and lose their values. (Module::to refuses this device.)
void move_to_meta(torch::nn::Module& module);

}  // namespace larmor
