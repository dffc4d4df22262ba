#include "larmor/train/step/step_counts.h"

#include <ATen/ATen.h>

#include "larmor/device/send.h"

namespace larmor {

std::optional<at::Tensor> sum_counts(const at::Tensor& own, bool well, Communicator& communicator) {
  const at::Tensor failed = at::full({1}, well ? 0.0 : 1.0, at::kDouble);
  const at::Tensor sums = send(at::cat({own, failed}), communicator.device());
  communicator.all_reduce(sums, Reduce::sum).wait();
  const at::Tensor on_host = sums.to(at::kCPU);
  const int64_t counted = own.size(0);
  if (on_host[counted].item<double>() > 0) return std::nullopt;
  return on_host.narrow(0, 0, counted);
}

}  // namespace larmor
