#include "larmor/train/measure/bf16_probe.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>

#include "larmor/device/layout.h"
#include "larmor/kernels/conv3d.h"

namespace larmor {
namespace {

constexpr int64_t channels = 32, edge = 12;
constexpr int turns = 6;  // the first, in which oneDNN makes its code, never counts: it is not the least

/// A convolution as autoencoders and U-Nets have them, forward and backward.
class Convolution {
 public:
  explicit Convolution(at::ScalarType type)
      : volumes_(at::ones({1, channels, edge, edge, edge}, type)),
        kernel_(at::ones({channels, channels, 3, 3, 3}, type).requires_grad_()) {
    volumes_.requires_grad_();
  }

  double seconds() const {
    const auto started = std::chrono::steady_clock::now();
    larmor::conv3d(volumes_, kernel_, at::Tensor(), {1, 1, 1}, {1, 1, 1}).sum().backward();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  }

 private:
  at::Tensor volumes_, kernel_;
};

}  // namespace

double measured_bf16_speedup() {
  const at::AutoGradMode with_gradients(true);
  const LayoutScope layout(Layout::channels_last);
  const Convolution wide(at::kFloat), narrow(at::kBFloat16);
  double least_wide = std::numeric_limits<double>::infinity(), least_narrow = least_wide;
  for (int turn = 0; turn < turns; ++turn) {
    least_wide = std::min(least_wide, wide.seconds());
    least_narrow = std::min(least_narrow, narrow.seconds());
  }
  return least_wide / least_narrow;
}

}  // namespace larmor
