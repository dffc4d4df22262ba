#include "tests/parallel/support/small_net.h"

#include <cmath>

namespace larmor::testing {
namespace {

/// libtorch's generator is one for the whole process; thread ranks would race for it.
void fill(torch::nn::Module& module, uint64_t seed, at::ScalarType type) {
  const torch::NoGradGuard no_grad;
  module.to(type);
  auto phase = static_cast<double>(seed);
  for (at::Tensor& parameter : module.parameters()) {
    phase += 1.7;
    const at::Tensor wave = (torch::arange(parameter.numel(), at::kDouble) * 0.91 + phase).sin();
    parameter.copy_((wave * 0.4).view(parameter.sizes()));
  }
}

}  // namespace

SmallNetImpl::SmallNetImpl(uint64_t seed, at::ScalarType type) {
  using torch::nn::Conv3dOptions;
  // First, so that it is in the bucket that leaves last: a weight that never arrives holds up all behind it.
  rare_ = register_module("rare", torch::nn::Linear(4, 4));
  first_ = register_module("first", torch::nn::Conv3d(Conv3dOptions(1, 4, 3).padding(1)));
  norm_ = register_module("norm", torch::nn::GroupNorm(torch::nn::GroupNormOptions(2, 4)));
  second_ = register_module("second", torch::nn::Conv3d(Conv3dOptions(4, 4, 3).padding(1)));
  last_ = register_module("last", torch::nn::Conv3d(Conv3dOptions(8, 1, 1)));
  fill(*this, seed, type);
}

at::Tensor SmallNetImpl::forward(const at::Tensor& volume, bool with_rare) {
  const at::Tensor skip = first_->forward(volume);
  at::Tensor deep = torch::silu(norm_->forward(skip));
  deep = torch::silu(second_->forward(deep));
  deep = second_->forward(deep);
  if (with_rare) deep = rare_->forward(deep);
  return last_->forward(torch::cat({skip, deep}, 1));
}

SmallJudgeImpl::SmallJudgeImpl(uint64_t seed, at::ScalarType type) {
  first_ = register_module("first", torch::nn::Conv3d(torch::nn::Conv3dOptions(1, 3, 3)));
  last_ = register_module("last", torch::nn::Conv3d(torch::nn::Conv3dOptions(3, 1, 2)));
  fill(*this, seed, type);
}

at::Tensor SmallJudgeImpl::forward(const at::Tensor& volume) {
  return last_->forward(torch::leaky_relu(first_->forward(volume), 0.2));
}

at::Tensor make_batch(int64_t step, int64_t count, at::ScalarType type) {
  const at::Tensor ramp = torch::arange(count * 64, at::kDouble) * 0.37 + static_cast<double>(step) * 11.3;
  return (ramp.sin() + 0.3 * (ramp * 2.7).cos()).view({count, 1, 4, 4, 4}).to(type);
}

at::Tensor flat_parameters(const torch::nn::Module& module) {
  std::vector<at::Tensor> all;
  for (const at::Tensor& parameter : module.parameters()) all.push_back(parameter.detach().reshape({-1}));
  return torch::cat(all);
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

}  // namespace larmor::testing
