// Backward passes on the meta device.
#pragma once

namespace torch {
class Library;
}

namespace larmor {

/// Adds to `meta`, libtorch's operators on that device, the shape half of the gradients that it has
/// in Python alone.
void add_meta_gradients(torch::Library& meta);

}  // namespace larmor
