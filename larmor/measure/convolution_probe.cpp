#include "larmor/measure/convolution_probe.h"

#include <chrono>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>

#include "larmor/device/device.h"
#include "larmor/kernels/convolution/conv3d.h"

namespace larmor {

ConvolutionProbe::ConvolutionProbe(int64_t channels, int64_t edge, const at::TensorOptions& options)
    : volume_(at::ones({1, channels, edge, edge, edge}, options)),
      kernel_(at::ones({channels, channels, 3, 3, 3}, options)) {
  volume_.requires_grad_();
  kernel_.requires_grad_();
}

double ConvolutionProbe::seconds() const {
  const at::AutoGradMode with_gradients(true);
  synchronize(volume_.device());
  const auto started = std::chrono::steady_clock::now();
  larmor::conv3d(volume_, kernel_, at::Tensor(), {1, 1, 1}, {1, 1, 1}).sum().backward();
  synchronize(volume_.device());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
}

double ConvolutionProbe::operations() const {
  const auto voxels = static_cast<double>(volume_.numel() / volume_.size(1));
  return 3 * 2 * voxels * static_cast<double>(kernel_.numel());
}

}  // namespace larmor
