#include "larmor/device/send.h"

#include <c10/util/Exception.h>

#include "larmor/device/cuda/graph.h"

namespace larmor {

at::Tensor send(const at::Tensor& host, c10::Device device) {
  if (!device.is_cuda() || !host.is_cpu()) return host.to(device);
  TORCH_CHECK(!is_recording(device),
              "numbers of the host were to go to the GPU");  // a replay would not send them
  // libtorch hands this memory out again only once the copy is over.
  const at::Tensor pinned = host.is_pinned() ? host : host.pin_memory();
  return pinned.to(device, pinned.scalar_type(), /*non_blocking=*/true);
}

at::Tensor send_like(const at::Tensor& host, const at::Tensor& like) {
  return send(host.to(like.scalar_type()), like.device());
}

}  // namespace larmor
