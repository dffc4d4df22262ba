#include "larmor/nn/diffusion/sampling.h"

#include <cassert>
#include <utility>

#include <ATen/ops/full.h>

#include "larmor/device/draw_position.h"
#include "larmor/device/heartbeat.h"
#include "larmor/kernels/draw/draw.h"

namespace larmor::nn {
namespace {

/// Draws in turns `first_turn` to `first_turn` + steps.
at::Tensor sample_in_turns(int64_t first_turn, Sampler sampler, const at::Tensor& like,
                           const DenoisingFunction& denoise,
                           const std::function<void(double share)>& progress) {
  const DrawTurn from_noise(first_turn);
  at::Tensor x = draw_normal_like(like, "sampling from");
  const auto count = std::ssize(sampler.steps());
  for (int64_t i = 0; i < count; ++i) {
    const DrawTurn turn(first_turn + i + 1);
    const double time = sampler.steps()[static_cast<std::size_t>(i)].from;
    const at::Tensor output = denoise(x, at::full({x.size(0)}, time, x.options().dtype(at::kDouble)));
    const at::Tensor noise = sampler.draws_noise(i) ? draw_normal_like(x, "sampling step") : at::Tensor();
    x = sampler.step(i, x, output, noise);
    send_heartbeat();
    if (progress) progress(static_cast<double>(i + 1) / static_cast<double>(count));
  }
  return x;
}

}  // namespace

at::Tensor sample(Sampler sampler, const at::Tensor& like, const DenoisingFunction& denoise,
                  const std::function<void(double share)>& progress) {
  return sample_in_turns(0, std::move(sampler), like, denoise, progress);
}

at::Tensor mean_of_samples(int64_t count, const Sampler& sampler, const at::Tensor& like,
                           const DenoisingFunction& denoise,
                           const std::function<void(double share)>& progress) {
  assert(count >= 1);
  const int64_t turns = std::ssize(sampler.steps()) + 1;
  at::Tensor sum;
  for (int64_t i = 0; i < count; ++i) {
    const auto of_all = [&](double share) {
      if (progress) progress((static_cast<double>(i) + share) / static_cast<double>(count));
    };
    const at::Tensor one = sample_in_turns(i * turns, sampler, like, denoise, of_all);
    sum = i == 0 ? one : sum + one;
  }
  return sum / static_cast<double>(count);
}

}  // namespace larmor::nn
