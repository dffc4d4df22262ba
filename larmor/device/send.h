// From the host to a device, with nobody waiting.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

namespace larmor {

/// `host` on the device, in order with what the device computes next. A copy to a GPU starts from pinned
/// memory: from any other the host would wait until the device has come to it. `host` may be changed or
/// dropped at once. Throws c10::Error where the device's work is being recorded (device/cuda/graph.h).
at::Tensor send(const at::Tensor& host, c10::Device device);
/// The same, in the type and on the device of `like`.
at::Tensor send_like(const at::Tensor& host, const at::Tensor& like);

}  // namespace larmor
