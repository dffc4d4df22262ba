// What a GPU launches, recorded once and launched again as a whole.
#pragma once

#include <functional>
#include <memory>

#include <c10/core/Device.h>

namespace larmor {

/// A recording of kernels over fixed memory: each replay reads what the same tensors hold then, and writes
/// the same results. Tensors that were made while it was recorded belong to it: their memory goes with it,
/// and they hold numbers from the first replay on.
class Graph {
 public:
  virtual ~Graph() = default;
  /// Launches all of it, in order with what the current stream does.
  virtual void replay() = 0;
};

/// Records what `compute` launches on the GPU; nothing of it takes effect. `compute` must not wait for the
/// GPU, nor copy between it and the host, nor keep tensors from before that it has replaced: the host does
/// not run again at a replay. Throws what `compute` throws, and c10::Error where something cannot be
/// recorded; the GPU can be used as before then. Requires: `compute` has run before, so that libraries have
/// set themselves up.
std::unique_ptr<Graph> record_graph(c10::Device device, const std::function<void()>& compute);

/// Whether what this thread launches is being recorded.
bool is_recording(c10::Device device);

}  // namespace larmor
