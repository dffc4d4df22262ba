#include "larmor/measure/machine_peak.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>

#include "larmor/device/device.h"
#include "larmor/device/layout.h"
#include "larmor/measure/convolution_probe.h"

namespace larmor {
namespace {

constexpr int turns = 6;  // the first takes memory and, with oneDNN, makes code

double least_of(const std::function<double()>& seconds) {
  double least = std::numeric_limits<double>::infinity();
  for (int turn = 0; turn < turns; ++turn) least = std::min(least, seconds());
  return least;
}

double seconds_of(c10::Device device, const std::function<void()>& work) {
  synchronize(device);
  const auto started = std::chrono::steady_clock::now();
  work();
  synchronize(device);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
}

double peak_of_products(const at::TensorOptions& options) {
  const int64_t edge = options.device().is_cpu() ? 1024 : 4096;
  const auto matrix = at::ones({edge, edge}, options);
  const auto cube = static_cast<double>(edge * edge * edge);
  return 2 * cube / least_of([&] { return seconds_of(options.device(), [&] { at::mm(matrix, matrix); }); });
}

double peak_of_copies(c10::Device device) {
  const int64_t bytes = int64_t{1} << 27;  // more than caches hold
  const auto from = at::ones({bytes}, at::TensorOptions(at::kByte).device(device));
  auto to = at::ones_like(from);
  return 2 * static_cast<double>(bytes) /
         least_of([&] { return seconds_of(device, [&] { to.copy_(from); }); });
}

}  // namespace

MachinePeak measured_peak(c10::Device device, Precision precision, Layout layout) {
  const at::NoGradGuard no_grad;
  const LayoutScope in_layout(layout);
  const auto options = at::TensorOptions(scalar_type(precision)).device(device);
  const ConvolutionProbe convolution(/*channels=*/64, /*edge=*/24, options);
  return {.convolution = convolution.operations() / least_of([&] { return convolution.seconds(); }),
          .product = peak_of_products(options),
          .bytes = peak_of_copies(device)};
}

}  // namespace larmor
