#include "larmor/kernels/norms/token_norm.h"

#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "larmor/device/meta/meta_kernels.h"
#include "larmor/device/meta/saved_bytes.h"
#include "larmor/kernels/draw/draw.h"
#include "larmor/kernels/norms/token_norm_operators.h"

#include "tests/kernels/support/expect_twin.h"
#include "tests/kernels/support/outputs_and_gradients.h"

namespace larmor::testing {
namespace {

using at::Tensor;
using Sizes = std::vector<int64_t>;
using Tensors = std::vector<Tensor>;

constexpr double token_epsilon = 1e-5;

/// input, weight, bias, and scale and shift or neither
using Norm = Tensor(const Tensors&);

/// Layer normalisation as it is written in papers.
Tensor by_the_paper(const Tensors& given) {
  const Tensor& input = given[0];
  const Tensor distances = input - input.mean(-1, /*keepdim=*/true);
  const Tensor deviation = (distances.square().mean(-1, /*keepdim=*/true) + token_epsilon).sqrt();
  const Tensor normed = distances / deviation * given[1] + given[2];
  if (given.size() == 3) return normed;
  return normed * (1 + token_norms::beside_tokens(given[3], input)) +
         token_norms::beside_tokens(given[4], input);
}

Tensor by_kernel(const Tensors& given) {
  return given.size() == 3
             ? normalise_tokens(given[0], given[1], given[2], token_epsilon)
             : normalise_and_modulate(given[0], given[1], given[2], given[3], given[4], token_epsilon);
}

/// Lanes that are full and that are not, one channel, one token, one axis of tokens or two, several pieces.
const Sizes token_sizes[] = {{2, 5, 16},   {3, 7, 1},      {1, 1, 33},    {2, 3, 4, 24}, {2, 600, 64},
                             {4, 37, 257}, {1, 4100, 100}, {2, 20, 1000}, {3, 96}};

Tensors drawn(const Sizes& sizes, bool is_modulated, at::ScalarType type, at::ScalarType of_channels) {
  const int64_t channels = sizes.back();
  Tensors all{(draw_normal(3, "input", sizes) * 2 + 1).to(type),
              draw_normal(3, "weight", {channels}).to(of_channels),
              draw_normal(3, "bias", {channels}).to(of_channels)};
  if (is_modulated) {
    all.push_back(draw_normal(3, "scale", {sizes[0], channels}).to(of_channels));
    all.push_back(draw_normal(3, "shift", {sizes[0], channels}).to(of_channels));
  }
  return all;
}

/// The output and the gradients of all tensors.
Tensors learn(Norm* norm, const Tensors& given) {
  Tensors leaves, found;
  for (const Tensor& tensor : given) leaves.push_back(tensor.detach().clone().requires_grad_());
  const Tensor output = norm(leaves);
  output.backward(draw_normal(3, "gradient", output.sizes()).to(output.scalar_type()));
  found.push_back(output.detach());
  for (const Tensor& leaf : leaves) found.push_back(leaf.grad());
  return found;
}

Tensors widened(const Tensors& given) {
  Tensors wide;
  for (const Tensor& tensor : given) wide.push_back(tensor.to(at::kDouble));
  return wide;
}

std::string text_of(const Sizes& sizes) {
  std::string text;
  for (const int64_t size : sizes) text += std::to_string(size) + " ";
  return text;
}

TEST(TokenNorm, IsThatOfThePaperWithAllItsGradients) {
  const std::pair<at::ScalarType, double> types[] = {
      {at::kDouble, 1e-13}, {at::kFloat, 2e-6}, {at::kHalf, 2e-3}, {at::kBFloat16, 1e-2}};
  for (const Sizes& sizes : token_sizes) {
    for (const bool is_modulated : {false, true}) {
      for (const auto& [type, tolerance] : types) {
        const Tensors given = drawn(sizes, is_modulated, type, type == at::kDouble ? type : at::kFloat);
        const Tensors own = learn(by_kernel, given);
        EXPECT_EQ(own[0].scalar_type(), type);
        EXPECT_LT(most_apart(own, learn(by_the_paper, widened(given))), tolerance)
            << text_of(sizes) << at::toString(type) << (is_modulated ? " modulated" : "");
      }
    }
  }
}

TEST(TokenNorm, GivesGradientsTheTypeOfTheirTensors) {
  const Tensors given = drawn({2, 5, 24}, true, at::kFloat, at::kBFloat16);
  const Tensors own = learn(by_kernel, given);
  for (std::size_t i = 0; i < given.size(); ++i) EXPECT_EQ(own[i + 1].scalar_type(), given[i].scalar_type());
  EXPECT_LT(most_apart(own, learn(by_the_paper, widened(given))), 0.01);
}

TEST(TokenNorm, IsItsTwinInEachLayoutAndType) {
  register_meta_kernels();
  const Tensors fixed = drawn({2, 3, 4, 5, 20}, true, at::kDouble, at::kDouble);
  const auto by = [](Norm* norm, bool is_modulated) {
    return [norm, is_modulated](const Tensor& input, const Tensors& others) {
      Tensors given{input};
      for (std::size_t i = 0; i < (is_modulated ? 4U : 2U); ++i)
        given.push_back(others[i].to(input.scalar_type()));
      return norm(given).contiguous();
    };
  };
  for (const bool is_modulated : {false, true}) {
    for (const auto& [type, tolerance] : {std::pair{at::kDouble, 1e-12}, {at::kFloat, 2e-6}}) {
      expect_twin(by(by_kernel, is_modulated), by(by_the_paper, is_modulated),
                  {.sizes = {2, 3, 4, 5, 20},
                   .others = {fixed[1], fixed[2], fixed[3], fixed[4]},
                   .is_differentiable = type == at::kDouble,
                   .tolerance = tolerance,
                   .types = {type}});
    }
  }
}

TEST(TokenNorm, HasOnGpusWhatOperatorsOfLibtorchGive) {
  // What CUDA runs is made of operators that a CPU has as well.
  for (const bool is_modulated : {false, true}) {
    const Tensors given = drawn({3, 7, 40}, is_modulated, at::kFloat, at::kFloat);
    const token_norms::Arguments arguments{.input = given[0],
                                           .weight = given[1],
                                           .bias = given[2],
                                           .scale = is_modulated ? given[3] : Tensor(),
                                           .shift = is_modulated ? given[4] : Tensor()};
    const auto [output, mean, rstd] = token_norms::forward_by_operators(arguments, token_epsilon);
    const auto found =
        token_norms::backward_by_operators(draw_normal(3, "gradient", output.sizes()), arguments, mean, rstd);
    Tensors all{output, found.input, found.weight, found.bias};
    if (is_modulated) all.insert(all.end(), {found.scale, found.shift});
    EXPECT_LT(most_apart(all, learn(by_the_paper, widened(given))), 2e-6);
    EXPECT_EQ(mean.sizes(), Sizes({3, 7}));
  }
}

TEST(TokenNorm, KeepsItsDigitsNextToALargeMean) {
  const Tensor input = draw_normal(3, "input", {4, 50, 96}) + 1e4F;
  const Tensor weight = at::ones({96}), bias = at::zeros({96});
  const Tensor truth = by_the_paper({input.to(at::kDouble), weight, bias});
  EXPECT_LT((normalise_tokens(input, weight, bias, token_epsilon).to(at::kDouble) - truth)
                .abs()
                .max()
                .item<double>(),
            2e-6);
}

TEST(TokenNorm, HasTheSameBitsOnAnyNumberOfThreadsAndForATokenAlone) {
  const int before = at::get_num_threads();
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const Tensors given = drawn({3, 1111, 72}, true, type, at::kFloat);
    at::set_num_threads(1);
    const Tensors one = learn(by_kernel, given);
    for (const int threads : {2, 3, 8}) {
      at::set_num_threads(threads);
      EXPECT_TRUE(have_equal_bits(learn(by_kernel, given), one)) << threads << " threads";
    }
    const Tensor alone =
        normalise_and_modulate(given[0].narrow(0, 1, 1).narrow(1, 7, 1), given[1], given[2],
                               given[3].narrow(0, 1, 1), given[4].narrow(0, 1, 1), token_epsilon);
    EXPECT_TRUE(alone.equal(one[0].narrow(0, 1, 1).narrow(1, 7, 1)));
  }
  at::set_num_threads(before);
}

TEST(TokenNorm, KeepsItsInputAndTwoNumbersATokenOnEachDevice) {
  register_meta_kernels();
  for (const at::Device device : {at::kCPU, at::kMeta}) {
    const Tensor input = at::ones({2, 30, 48}, device).requires_grad_();
    Tensors others;
    for (const Sizes& sizes : {Sizes{48}, Sizes{48}, Sizes{2, 48}, Sizes{2, 48}})
      others.push_back(at::ones(sizes, device).requires_grad_());
    const SavedBytes own(others);
    const Tensor output =
        normalise_and_modulate(input, others[0], others[1], others[2], others[3], token_epsilon);
    EXPECT_EQ(own.bytes(), static_cast<int64_t>(input.nbytes() + 2 * 2 * 30 * sizeof(float)));
  }
}

TEST(TokenNorm, HasSecondDerivatives) {
  const auto penalty = [](Norm* norm) {
    Tensors leaves;
    for (const Tensor& tensor : drawn({2, 4, 6}, true, at::kDouble, at::kDouble))
      leaves.push_back(tensor.detach().clone().requires_grad_());
    const Tensors first = torch::autograd::grad({norm(leaves).pow(3).sum()}, leaves, {},
                                                /*retain_graph=*/true, /*create_graph=*/true);
    Tensor sum = first[0].square().sum();
    for (std::size_t i = 1; i < first.size(); ++i) sum = sum + first[i].square().sum();
    return torch::autograd::grad({sum}, leaves);
  };
  EXPECT_LT(most_apart(penalty(by_kernel), penalty(by_the_paper)), 1e-11);
}

TEST(TokenNorm, TakesTensorsWithoutTokens) {
  const Tensors given = drawn({2, 0, 8}, true, at::kFloat, at::kFloat);
  const Tensors own = learn(by_kernel, given);
  EXPECT_EQ(own[0].sizes(), given[0].sizes());
  EXPECT_EQ(own[2].abs().sum().item<double>(), 0);
}

TEST(TokenNorm, WhatDoesNotFitIsRefused) {
  const Tensor input = at::ones({2, 5, 8}), channels = at::ones({8}), of_samples = at::ones({2, 8});
  EXPECT_THROW(normalise_tokens(input, at::ones({7}), channels, token_epsilon), std::logic_error);
  EXPECT_THROW(normalise_and_modulate(input, channels, channels, channels, of_samples, token_epsilon),
               std::logic_error);
  EXPECT_THROW(normalise_and_modulate(input, channels, channels, at::ones({3, 8}), of_samples, token_epsilon),
               std::logic_error);
}

}  // namespace
}  // namespace larmor::testing
