#include "larmor/nn/diffusion/sampling.h"

#include <utility>

#include <ATen/ops/full.h>

#include "larmor/device/draw_position.h"
#include "larmor/device/heartbeat.h"
#include "larmor/kernels/draw.h"

namespace larmor::nn {

at::Tensor sample(Sampler sampler, const at::Tensor& like, const DenoisingFunction& denoise,
                  const std::function<void(double share)>& progress) {
  const DrawTurn from_noise(0);
  at::Tensor x = draw_normal_like(like, "sampling from");
  const auto count = std::ssize(sampler.steps());
  for (int64_t i = 0; i < count; ++i) {
    const DrawTurn turn(i + 1);
    const double time = sampler.steps()[static_cast<std::size_t>(i)].from;
    const at::Tensor output = denoise(x, at::full({x.size(0)}, time, x.options().dtype(at::kDouble)));
    const at::Tensor noise = sampler.draws_noise(i) ? draw_normal_like(x, "sampling step") : at::Tensor();
    x = sampler.step(i, x, output, noise);
    send_heartbeat();
    if (progress) progress(static_cast<double>(i + 1) / static_cast<double>(count));
  }
  return x;
}

}  // namespace larmor::nn
