#include "tests/parallel/support/small_net.h"

#include <cmath>

#include <gtest/gtest.h>

#include "larmor/device/run_block.h"

#include "tests/support/rounding.h"

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

SmallAttentionImpl::SmallAttentionImpl(int64_t channels) {
  query_ = register_module("query", torch::nn::Linear(channels, channels));
  key_ = register_module("key", torch::nn::Linear(channels, channels));
  value_ = register_module("value", torch::nn::Linear(channels, channels));
}

at::Tensor SmallAttentionImpl::forward(const at::Tensor& volume) {
  const at::Tensor voxels = volume.flatten(2).transpose(1, 2);
  const at::Tensor attended = at::scaled_dot_product_attention(query_(voxels), key_(voxels), value_(voxels));
  return volume + attended.transpose(1, 2).reshape(volume.sizes());
}

SmallNetImpl::SmallNetImpl(uint64_t seed, at::ScalarType type) {
  using torch::nn::Conv3dOptions;
  // First, so that it is in the bucket that leaves last: a weight that never arrives holds up all behind it.
  rare_ = register_module("rare", torch::nn::Linear(4, 4));
  first_ = register_module("first", torch::nn::Conv3d(Conv3dOptions(1, 4, 3).padding(1)));
  norm_ = register_module("norm", torch::nn::GroupNorm(torch::nn::GroupNormOptions(2, 4)));
  second_ = register_module("second", torch::nn::Conv3d(Conv3dOptions(4, 4, 3).padding(1)));
  attention_ = register_module("attention", SmallAttention(4));
  last_ = register_module("last", torch::nn::Conv3d(Conv3dOptions(8, 1, 1)));
  fill(*this, seed, type);
}

at::Tensor SmallNetImpl::forward(const at::Tensor& volume, bool with_rare) {
  using nn::run_block;
  const at::Tensor skip = run_block(first_, volume);
  at::Tensor deep = torch::silu(run_block(norm_, skip));
  deep = torch::silu(run_block(second_, deep));
  deep = run_block(second_, deep);
  deep = run_block(attention_, deep);
  if (with_rare) deep = run_block(rare_, deep);
  return run_block(last_, torch::cat({skip, deep}, 1));
}

std::vector<const torch::nn::Module*> SmallNetImpl::blocks() const {
  return {first_.get(), norm_.get(), second_.get(), attention_.get(), last_.get()};
}

SmallJudgeImpl::SmallJudgeImpl(uint64_t seed, at::ScalarType type) {
  first_ = register_module("first", torch::nn::Conv3d(torch::nn::Conv3dOptions(1, 3, 3)));
  last_ = register_module("last", torch::nn::Conv3d(torch::nn::Conv3dOptions(3, 1, 2)));
  fill(*this, seed, type);
}

at::Tensor SmallJudgeImpl::forward(const at::Tensor& volume) {
  return nn::run_block(last_, torch::leaky_relu(nn::run_block(first_, volume), 0.2));
}

std::vector<const torch::nn::Module*> SmallJudgeImpl::blocks() const { return {first_.get(), last_.get()}; }

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

void expect_but_for_rounding(const at::Tensor& other, const at::Tensor& in_float32, const at::Tensor& exact) {
  const double rounded = largest_difference(in_float32, exact);
  EXPECT_GT(rounded, 0) << "float64 is float32: nothing is compared";
  EXPECT_LE(largest_difference(other, exact), rounding_room * rounded);
}

}  // namespace larmor::testing
