// The meta device: tensors with shapes and types but no values. A network that lives there can be asked what
// a step of it would keep, in a millisecond and before there is any data.
#pragma once

namespace torch::nn {
class Module;
}

namespace larmor {

/// Teaches libtorch the forward passes on meta tensors that it has in Python alone: convolutions, norms,
/// poolings, attention and some more. Backward on meta stays unknown. Once per process; later calls do
/// nothing. Thread-safe.
void register_meta_kernels();

/// Parameters and buffers stay the same tensors and lose their values. (Module::to refuses this device.)
void move_to_meta(torch::nn::Module& module);

}  // namespace larmor
