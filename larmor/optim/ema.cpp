#include "larmor/optim/ema.h"

#include <cassert>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/clone.h>

namespace larmor {
namespace {

/// Halves would lose small steps of the average.
c10::ScalarType average_type(const at::Tensor& parameter) {
  const c10::ScalarType type = parameter.scalar_type();
  return type == at::kHalf || type == at::kBFloat16 ? at::kFloat : type;
}

}  // namespace

Ema::Ema(double decay, const std::vector<at::Tensor>& parameters) : decay_(decay) {
  assert(decay > 0 && decay < 1);
  for (const at::Tensor& parameter : parameters) {
    averages_.push_back(
        parameter.detach().to(average_type(parameter), /*non_blocking=*/false, /*copy=*/true));
  }
}

void Ema::update(const std::vector<at::Tensor>& parameters) {
  assert(parameters.size() == averages_.size());
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> values;
  for (const at::Tensor& parameter : parameters) {
    values.push_back(parameter.detach().to(average_type(parameter)));
  }
  if (!values.empty()) at::_foreach_lerp_(averages_, values, 1 - decay_);
}

void Ema::apply_to(const std::vector<at::Tensor>& parameters) {
  assert(parameters.size() == averages_.size() && live_.empty());
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < parameters.size(); ++i) {
    live_.push_back(parameters[i].detach().clone());
    at::Tensor(parameters[i]).copy_(averages_[i]);
  }
}

void Ema::restore(const std::vector<at::Tensor>& parameters) {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < live_.size(); ++i) at::Tensor(parameters[i]).copy_(live_[i]);
  live_.clear();
}

}  // namespace larmor
