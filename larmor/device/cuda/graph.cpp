#include "larmor/device/cuda/graph.h"

#include "larmor/device/cuda/cuda.h"

namespace larmor {

std::unique_ptr<Graph> record_graph(c10::Device device, const std::function<void()>& compute) {
  return cuda::record_graph(device.index(), compute);
}

bool is_recording(c10::Device device) { return device.is_cuda() && cuda::is_recording(); }

}  // namespace larmor
