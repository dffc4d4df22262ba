#include "larmor/kernels/norms/group_norm_silu.h"

#include <cmath>
#include <tuple>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "larmor/device/autocast.h"
#include "larmor/device/meta/meta_kernels.h"
#include "larmor/device/meta/saved_bytes.h"
#include "larmor/kernels/draw/draw.h"

#include "tests/kernels/support/expect_twin.h"

namespace larmor::testing {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;

constexpr double epsilon = 1e-5;

Tensor numbers(const char* name, at::IntArrayRef sizes) {
  return draw_normal(7, name, sizes).to(at::kDouble);
}

/// libtorch's own operators, in float64.
Tensor plain_norm(const Tensor& input, int64_t groups, const Tensor& weight, const Tensor& bias,
                  bool activated) {
  const auto wide = [](const Tensor& tensor) { return tensor.defined() ? tensor.to(at::kDouble) : tensor; };
  const Tensor value =
      at::group_norm(input.to(at::kDouble).contiguous(), groups, wide(weight), wide(bias), epsilon);
  return activated ? at::silu(value) : value;
}

Tensor norm(const Tensor& input, int64_t groups, const Tensor& weight, const Tensor& bias, bool activated) {
  return activated ? group_norm_silu(input, groups, weight, bias, epsilon)
                   : normalise_groups(input, groups, weight, bias, epsilon);
}

struct NormCase {
  std::vector<int64_t> sizes;
  int64_t groups;
};

/// Odd channels, one channel, one group, one channel a group, one voxel, rows and pieces that do not fit.
const NormCase norm_cases[] = {{{2, 8, 3, 4, 5}, 4}, {{2, 6, 7}, 3},       {{3, 5, 3, 3}, 1},
                               {{2, 5, 4, 3, 3}, 5}, {{1, 1, 3, 3, 3}, 1}, {{2, 4}, 2},
                               {{1, 6, 1, 1, 1}, 3}, {{2, 260, 3, 3}, 13}};
const NormCase long_cases[] = {{{1, 3, 33, 34, 35}, 3}, {{2, 48, 9, 11, 13}, 8}, {{1, 300, 5, 6, 7}, 2}};

double tolerance_of(at::ScalarType type) {
  switch (type) {
    case at::kDouble:
      return 1e-12;
    case at::kFloat:
      return 2e-6;
    case at::kHalf:
      return 1e-3;
    default:
      return 8e-3;
  }
}

constexpr at::ScalarType norm_types[] = {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16};

TEST(GroupNormSilu, IsItsTwinInEachLayoutAndType) {
  for (const auto& [sizes, groups] : norm_cases) {
    const Tensor weight = numbers("weight", sizes[1]), bias = numbers("bias", sizes[1]);
    for (const bool activated : {false, true}) {
      const int64_t count = groups;
      const KernelFunction kernel = [=](const Tensor& input, const Tensors& others) {
        return norm(input, count, others[0], others[1], activated);
      };
      const KernelFunction twin = [=](const Tensor& input, const Tensors& others) {
        return plain_norm(input, count, others[0], others[1], activated).to(input.scalar_type());
      };
      for (const at::ScalarType type : norm_types) {
        SCOPED_TRACE(::testing::Message() << "channels " << sizes[1] << " groups " << groups);
        expect_twin(kernel, twin,
                    {.sizes = sizes,
                     .others = {weight, bias},
                     .is_differentiable = type == at::kDouble && sizes.size() > 2 && weight.numel() < 100,
                     .tolerance = tolerance_of(type),
                     .types = {type}});
      }
    }
  }
}

struct NormResults {
  Tensor output, of_input, of_weight, of_bias;
};

template <class Function>
NormResults differentiate(const Function& function, const Tensor& given, const Tensor& given_weight,
                          const Tensor& given_bias, const Tensor& gradient) {
  Tensor input = given.detach().requires_grad_();
  Tensor weight = given_weight.detach().clone().requires_grad_();
  Tensor bias = given_bias.detach().clone().requires_grad_();
  const Tensor output = function(input, weight, bias);
  output.backward(gradient.to(output.scalar_type()));
  return {output.detach(), input.grad(), weight.grad(), bias.grad()};
}

void expect_close(const Tensor& value, const Tensor& truth, double tolerance) {
  const Tensor wide = value.to(at::kDouble), expected = truth.to(at::kDouble);
  ASSERT_EQ(wide.sizes(), expected.sizes());
  const double scale = std::max(1.0, expected.abs().max().item<double>());
  EXPECT_LE((wide - expected).abs().max().item<double>(), tolerance * scale);
}

/// Gradients of all three against libtorch's in float64, of the same rounded numbers.
void expect_gradients(const NormCase& given, at::ScalarType type, at::ScalarType weight_type, bool last) {
  const Tensor weight = numbers("weight", given.sizes[1]).to(weight_type);
  const Tensor bias = numbers("bias", given.sizes[1]).to(weight_type);
  Tensor input = (numbers("input", given.sizes) * 2 + 1).to(type);
  const Tensor gradient = numbers("gradient", given.sizes).to(type);
  if (last) input = input.movedim(1, -1).contiguous().movedim(-1, 1);
  for (const bool activated : {false, true}) {
    const auto ours = differentiate([&](const Tensor& x, const Tensor& w,
                                        const Tensor& b) { return norm(x, given.groups, w, b, activated); },
                                    input, weight, bias, gradient);
    const auto truth =
        differentiate([&](const Tensor& x, const Tensor& w,
                          const Tensor& b) { return plain_norm(x, given.groups, w, b, activated); },
                      input.to(at::kDouble), weight.to(at::kDouble), bias.to(at::kDouble), gradient);
    const double tolerance = 5 * tolerance_of(type);
    expect_close(ours.output, truth.output, tolerance);
    expect_close(ours.of_input, truth.of_input, tolerance);
    // Sums over all voxels, whose terms have both signs.
    expect_close(ours.of_weight, truth.of_weight, std::max(tolerance, 5 * tolerance_of(weight_type)));
    expect_close(ours.of_bias, truth.of_bias, std::max(tolerance, 5 * tolerance_of(weight_type)));
    EXPECT_EQ(ours.of_weight.scalar_type(), weight_type);
    EXPECT_EQ(ours.output.strides(), input.strides());
    EXPECT_EQ(ours.of_input.strides(), input.strides()) << "whatever the layout of the incoming gradient";
  }
}

TEST(GroupNormSilu, HasTheGradientsOfLibtorchInFloat64) {
  for (const bool last : {false, true}) {
    for (const NormCase& given : norm_cases) {
      for (const at::ScalarType type : norm_types) expect_gradients(given, type, at::kFloat, last);
      expect_gradients(given, at::kDouble, at::kDouble, last);
      expect_gradients(given, at::kBFloat16, at::kBFloat16, last);
    }
    for (const NormCase& given : long_cases) {
      expect_gradients(given, at::kDouble, at::kDouble, last);
      expect_gradients(given, at::kFloat, at::kFloat, last);
      expect_gradients(given, at::kBFloat16, at::kFloat, last);
    }
  }
}

TEST(GroupNormSilu, NeedsNoWeights) {
  const Tensor input = numbers("input", {2, 6, 5, 4, 3}).requires_grad_();
  const Tensor own = group_norm_silu(input, 6, {}, {}, epsilon);
  EXPECT_TRUE(at::allclose(own, plain_norm(input, 6, {}, {}, true), 0, 1e-12));
  const Tensor weighed = own * numbers("gradient", input.sizes());
  const Tensor truth = plain_norm(input, 6, {}, {}, true) * numbers("gradient", input.sizes());
  const Tensor gradient = torch::autograd::grad({weighed.sum()}, {input}).front();
  EXPECT_TRUE(at::allclose(gradient, torch::autograd::grad({truth.sum()}, {input}).front(), 0, 1e-11));
}

TEST(GroupNormSilu, KeepsItsDigitsNextToALargeMean) {
  const Tensor input = (numbers("input", {1, 4, 24, 25, 26}) + 1e4).to(at::kFloat);
  for (const bool last : {false, true}) {
    const Tensor laid_out = last ? input.contiguous(at::MemoryFormat::ChannelsLast3d) : input;
    const Tensor own = normalise_groups(laid_out, 2, {}, {}, epsilon);
    const Tensor truth = plain_norm(input, 2, {}, {}, false);
    EXPECT_LT((own.to(at::kDouble) - truth).abs().max().item<double>(), 2e-6);
  }
  // The textbook's variance has lost its digits here: the mean of squares less the square of the mean.
  const double textbook = (input.square().mean() - input.mean().square()).item<double>();
  EXPECT_GT(std::fabs(textbook - 1), 0.1);
}

TEST(GroupNormSilu, HasTheSameBitsWithAnyNumberOfThreads) {
  const int before = at::get_num_threads();
  for (const bool last : {false, true}) {
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
      const Tensor plain = numbers("input", {2, 24, 18, 17, 16}).to(type);
      const Tensor input = last ? plain.contiguous(at::MemoryFormat::ChannelsLast3d) : plain;
      const Tensor weight = numbers("weight", {24}).to(at::kFloat), bias = weight + 0.5;
      const auto with_threads = [&](int threads) {
        at::set_num_threads(threads);
        return differentiate(
            [&](const Tensor& x, const Tensor& w, const Tensor& b) { return norm(x, 8, w, b, true); }, input,
            weight, bias, plain);
      };
      const NormResults one = with_threads(1);
      for (const int threads : {2, 3}) {
        const NormResults more = with_threads(threads);
        EXPECT_TRUE(at::equal(one.output, more.output));
        EXPECT_TRUE(at::equal(one.of_input, more.of_input));
        EXPECT_TRUE(at::equal(one.of_weight, more.of_weight));
        EXPECT_TRUE(at::equal(one.of_bias, more.of_bias));
      }
    }
  }
  at::set_num_threads(before);
}

TEST(GroupNormSilu, KeepsItsInputAndAFewNumbersForBackward) {
  register_meta_kernels();
  for (const at::Device device : {at::kCPU, at::kMeta}) {
    const Tensor input = at::ones({2, 8, 6, 6, 6}, device).requires_grad_();
    const Tensor weight = at::ones({8}, device).requires_grad_(), bias = at::zeros_like(weight);
    const SavedBytes own({weight, bias});
    const Tensor output = group_norm_silu(input, 4, weight, bias, epsilon);
    constexpr int64_t statistics = 2 * 2 * 4 * sizeof(double);
    EXPECT_EQ(own.bytes(), static_cast<int64_t>(input.nbytes()) + statistics);
    const SavedBytes two({weight, bias});
    const Tensor apart = at::silu(at::group_norm(input, 4, weight, bias, epsilon));
    EXPECT_GT(two.bytes(), 2 * static_cast<int64_t>(input.nbytes())) << "what SiLU is taken of as well";
  }
}

TEST(GroupNormSilu, HasSecondDerivatives) {
  const Tensor input = numbers("input", {2, 6, 3, 2, 2}).requires_grad_();
  const Tensor weight = numbers("weight", {6}).requires_grad_();
  const Tensor bias = numbers("bias", {6}).requires_grad_();
  const Tensor gradient = numbers("gradient", {2, 6, 3, 2, 2}).requires_grad_();
  const auto penalty = [&](const Tensor& output) {
    const Tensors first = torch::autograd::grad({output}, {input, weight, bias}, {gradient}, true, true);
    Tensor sum = first[0].pow(3).sum();
    for (const Tensor& of_affine : {first[1], first[2]}) sum = sum + of_affine.square().sum();
    // Without SiLU the bias moves no gradient.
    return torch::autograd::grad({sum}, {input, weight, bias, gradient}, {}, {}, false, true);
  };
  for (const bool activated : {false, true}) {
    const Tensors own = penalty(norm(input, 3, weight, bias, activated));
    const Tensors truth = penalty(plain_norm(input, 3, weight, bias, activated));
    for (size_t i = 0; i < own.size(); ++i) {
      ASSERT_EQ(own[i].defined(), truth[i].defined()) << i;
      if (!truth[i].defined()) continue;
      EXPECT_TRUE(at::allclose(own[i], truth[i], 1e-9, 1e-9)) << i;
    }
  }
}

TEST(GroupNormSilu, KeepsSixteenBitsUnderAutocast) {
  const AutocastScope autocast(c10::kCPU, Precision::bf16);
  const Tensor weight = at::ones({4}), bias = at::zeros({4});
  const Tensor input = numbers("input", {1, 4, 3, 3, 3});
  EXPECT_EQ(group_norm_silu(input.to(at::kBFloat16), 2, weight, bias, epsilon).scalar_type(), at::kBFloat16);
  EXPECT_EQ(group_norm_silu(input.to(at::kFloat), 2, weight, bias, epsilon).scalar_type(), at::kFloat);
}

TEST(GroupNormSilu, TakesTensorsWithoutElements) {
  for (const auto& sizes : {std::vector<int64_t>{0, 4, 3, 3, 3}, std::vector<int64_t>{2, 4, 0, 3, 3}}) {
    const Tensor input = at::ones(sizes).requires_grad_(), weight = at::ones({4}).requires_grad_();
    const Tensor output = group_norm_silu(input, 2, weight, at::zeros({4}), epsilon);
    EXPECT_EQ(output.sizes(), input.sizes());
    output.sum().backward();
    EXPECT_EQ(weight.grad().abs().sum().item<double>(), 0);
    EXPECT_EQ(input.grad().sizes(), input.sizes());
  }
}

TEST(GroupNormSilu, WhatDoesNotFitIsRefused) {
  const Tensor input = at::ones({1, 6, 2, 2, 2});
  EXPECT_THROW(normalise_groups(input, 4, {}, {}, epsilon), std::logic_error);
  EXPECT_THROW(normalise_groups(input, 3, at::ones({5}), {}, epsilon), std::logic_error);
  EXPECT_THROW(normalise_groups(at::ones({4}), 1, {}, {}, epsilon), std::logic_error);
}

}  // namespace
}  // namespace larmor::testing
