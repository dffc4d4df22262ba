// Of a rank on its own; over several ranks in tests/parallel/batch_norm_over_ranks_test.cpp.
#include "larmor/kernels/norms/batch_norm_relu.h"

#include <cmath>
#include <limits>

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

constexpr double batch_epsilon = 1e-5;

/// What stands behind a norm, and whether its moments are constants.
struct NormKind {
  bool activated, adds, constant;
};
const NormKind norm_kinds[] = {{false, false, false}, {true, false, false}, {false, true, false},
                               {true, true, false},   {true, false, true},  {true, true, true},
                               {false, false, true}};

std::string words_of(const NormKind& kind) {
  return std::string(kind.activated ? "ReLU, " : "") + (kind.adds ? "sum, " : "") +
         (kind.constant ? "constant moments" : "moments of the batch");
}

Tensor drawn(const char* name, at::IntArrayRef sizes) { return draw_normal(9, name, sizes).to(at::kDouble); }

/// weight, bias, residual, and constant moments
Tensors parts_for(at::IntArrayRef sizes) {
  const int64_t channels = sizes[1];
  return {drawn("weight", channels), drawn("bias", channels), drawn("residual", sizes),
          drawn("mean", channels), drawn("variance", channels).square() + 0.5};
}

Tensor own_norm(const NormKind& kind, const Tensor& input, const Tensors& parts) {
  const BatchMoments moments = kind.constant
                                   ? BatchMoments{.mean = parts[3], .variance = parts[4], .count = Tensor()}
                                   : batch_moments(input, nullptr);
  return batch_norm_relu(input, moments,
                         {.weight = parts[0],
                          .bias = parts[1],
                          .residual = kind.adds ? parts[2] : Tensor(),
                          .activated = kind.activated,
                          .constant_moments = kind.constant,
                          .epsilon = batch_epsilon});
}

/// libtorch's own operators, in float64.
Tensor plain_batch_norm(const NormKind& kind, const Tensor& input, const Tensors& parts) {
  const auto wide = [&](size_t part) { return parts[part].to(at::kDouble); };
  const Tensor none;
  Tensor value = at::batch_norm(input.to(at::kDouble).contiguous(), wide(0), wide(1),
                                kind.constant ? wide(3) : none, kind.constant ? wide(4) : none,
                                /*training=*/!kind.constant, 0.1, batch_epsilon, /*cudnn_enabled=*/false);
  if (kind.adds) value = value + wide(2);
  return kind.activated ? at::relu(value) : value;
}

/// Odd channels, one channel, one voxel, one sample, rows and pieces that do not fit.
const std::vector<int64_t> sizes_of_cases[] = {{2, 8, 3, 4, 5}, {2, 6, 7},      {3, 5, 3, 3},
                                               {2, 1, 3, 3, 3}, {5, 4},         {4, 6, 1, 1, 1},
                                               {2, 260, 3, 3},  {1, 5, 4, 3, 3}};
const std::vector<int64_t> long_sizes[] = {{2, 3, 33, 34, 35}, {3, 48, 9, 11, 13}, {1, 300, 5, 6, 7}};
constexpr at::ScalarType batch_types[] = {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16};

double allowed_of(at::ScalarType type) {
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

TEST(BatchNormRelu, IsItsTwinInEachLayoutAndType) {
  for (const auto& sizes : sizes_of_cases) {
    for (const NormKind& kind : norm_kinds) {
      SCOPED_TRACE(::testing::Message() << "channels " << sizes[1] << ", " << words_of(kind));
      const KernelFunction kernel = [&](const Tensor& input, const Tensors& others) {
        return own_norm(kind, input, others);
      };
      const KernelFunction twin = [&](const Tensor& input, const Tensors& others) {
        // What is added comes in the input's type.
        Tensors rounded = others;
        rounded[2] = others[2].to(input.scalar_type());
        return plain_batch_norm(kind, input, rounded).to(input.scalar_type());
      };
      for (const at::ScalarType type : batch_types) {
        expect_twin(kernel, twin,
                    {.sizes = sizes,
                     .others = parts_for(sizes),
                     .is_differentiable = type == at::kDouble && sizes[1] < 100,
                     .tolerance = allowed_of(type),
                     .types = {type}});
      }
    }
  }
}

struct BatchResults {
  Tensor output, of_input, of_weight, of_bias, of_residual;
};

template <class Function>
BatchResults differentiated(const Function& function, const Tensor& given, const Tensors& given_parts,
                            const Tensor& gradient) {
  Tensor input = given.detach().requires_grad_();
  Tensors parts;
  for (const Tensor& part : given_parts) parts.push_back(part.detach().clone());
  for (size_t i = 0; i < 3; ++i) parts[i].requires_grad_();
  const Tensor output = function(input, parts);
  output.backward(gradient.to(output.scalar_type()));
  return {output.detach(), input.grad(), parts[0].grad(), parts[1].grad(), parts[2].grad()};
}

void expect_near(const Tensor& value, const Tensor& truth, double tolerance, const char* what) {
  ASSERT_EQ(value.defined(), truth.defined()) << what;
  if (!value.defined()) return;
  const Tensor wide = value.to(at::kDouble), expected = truth.to(at::kDouble);
  ASSERT_EQ(wide.sizes(), expected.sizes()) << what;
  const double scale = std::max(1.0, expected.abs().max().item<double>());
  EXPECT_LE((wide - expected).abs().max().item<double>(), tolerance * scale) << what;
}

/// Gradients of everything against libtorch's in float64, of the same rounded numbers.
void expect_gradients_of(const NormKind& kind, at::IntArrayRef sizes, at::ScalarType type,
                         at::ScalarType weight_type, bool last) {
  SCOPED_TRACE(::testing::Message() << sizes << " " << type << " weights " << weight_type << ", "
                                    << words_of(kind) << (last ? ", channels last" : ""));
  Tensors parts = parts_for(sizes);
  for (size_t i = 0; i < 2; ++i) parts[i] = parts[i].to(weight_type);
  parts[2] = parts[2].to(type);
  Tensor input = (drawn("input", sizes) * 2 + 1).to(type);
  const Tensor gradient = drawn("gradient", sizes).to(type);
  if (last) input = input.movedim(1, -1).contiguous().movedim(-1, 1);
  const auto ours = differentiated([&](const Tensor& x, const Tensors& p) { return own_norm(kind, x, p); },
                                   input, parts, gradient);
  Tensors wide;
  for (const Tensor& part : parts) wide.push_back(part.to(at::kDouble));
  const auto truth =
      differentiated([&](const Tensor& x, const Tensors& p) { return plain_batch_norm(kind, x, p); },
                     input.to(at::kDouble), wide, gradient);
  const double tolerance = 5 * allowed_of(type);
  expect_near(ours.output, truth.output, tolerance, "output");
  expect_near(ours.of_input, truth.of_input, tolerance, "gradient of the input");
  expect_near(ours.of_residual, truth.of_residual, tolerance, "gradient of the residual");
  // Sums over all voxels, whose terms have both signs.
  const double of_sums = std::max(tolerance, 5 * allowed_of(weight_type));
  expect_near(ours.of_weight, truth.of_weight, of_sums, "gradient of the weight");
  expect_near(ours.of_bias, truth.of_bias, of_sums, "gradient of the bias");
  EXPECT_EQ(ours.of_weight.scalar_type(), weight_type);
  EXPECT_EQ(ours.output.strides(), input.strides());
  EXPECT_EQ(ours.of_input.strides(), input.strides()) << "whatever the layout of the incoming gradient";
}

TEST(BatchNormRelu, HasTheGradientsOfLibtorchInFloat64) {
  for (const bool last : {false, true}) {
    for (const NormKind& kind : norm_kinds) {
      for (const auto& sizes : sizes_of_cases) {
        for (const at::ScalarType type : batch_types)
          expect_gradients_of(kind, sizes, type, at::kFloat, last);
        expect_gradients_of(kind, sizes, at::kDouble, at::kDouble, last);
        expect_gradients_of(kind, sizes, at::kBFloat16, at::kBFloat16, last);
      }
      for (const auto& sizes : long_sizes) {
        expect_gradients_of(kind, sizes, at::kDouble, at::kDouble, last);
        expect_gradients_of(kind, sizes, at::kFloat, at::kFloat, last);
        expect_gradients_of(kind, sizes, at::kBFloat16, at::kFloat, last);
      }
    }
  }
}

TEST(BatchNormRelu, MeasuresAnyNumberOfSamples) {
  for (const auto& sizes : long_sizes) {
    const Tensor input = drawn("input", sizes) * 3 + 2;
    const BatchMoments moments = batch_moments(input.to(at::kFloat), nullptr);
    const Tensor flat = input.to(at::kFloat).to(at::kDouble).transpose(0, 1).reshape({sizes[1], -1});
    EXPECT_LE((moments.mean - flat.mean(1)).abs().max().item<double>(), 1e-6);
    EXPECT_LE((moments.variance - flat.var(1, /*unbiased=*/false)).abs().max().item<double>(), 1e-5);
    EXPECT_EQ(moments.count.item<double>(), static_cast<double>(flat.size(1)));
  }
}

TEST(BatchNormRelu, KeepsItsDigitsNextToALargeMean) {
  const std::vector<int64_t> sizes{2, 4, 24, 25, 13};
  const Tensor input = (drawn("input", sizes) + 1e4).to(at::kFloat);
  Tensors parts = parts_for(sizes);
  parts[0].fill_(1);
  parts[1].fill_(0);
  const Tensor truth = plain_batch_norm({false, false, false}, input, parts);
  for (const bool last : {false, true}) {
    const Tensor laid_out = last ? input.contiguous(at::MemoryFormat::ChannelsLast3d) : input;
    const Tensor own = own_norm({false, false, false}, laid_out, parts);
    EXPECT_LT((own.to(at::kDouble) - truth).abs().max().item<double>(), 2e-6);
  }
}

TEST(BatchNormRelu, HasTheSameBitsWithAnyNumberOfThreads) {
  const int before = at::get_num_threads();
  const std::vector<int64_t> sizes{3, 24, 18, 17, 16};
  for (const bool last : {false, true}) {
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
      const Tensor plain = drawn("input", sizes).to(type);
      const Tensor input = last ? plain.contiguous(at::MemoryFormat::ChannelsLast3d) : plain;
      for (const NormKind& kind : norm_kinds) {
        const auto with_threads = [&](int threads) {
          at::set_num_threads(threads);
          return differentiated([&](const Tensor& x, const Tensors& p) { return own_norm(kind, x, p); },
                                input, parts_for(sizes), drawn("gradient", sizes));
        };
        const BatchResults one = with_threads(1);
        for (const int threads : {2, 3}) {
          const BatchResults more = with_threads(threads);
          EXPECT_TRUE(at::equal(one.output, more.output));
          EXPECT_TRUE(at::equal(one.of_input, more.of_input));
          EXPECT_TRUE(at::equal(one.of_weight, more.of_weight));
          EXPECT_TRUE(at::equal(one.of_bias, more.of_bias));
        }
      }
    }
  }
  at::set_num_threads(before);
}

TEST(BatchNormRelu, KeepsItsInputAndTheOutputOfASumForBackward) {
  register_meta_kernels();
  for (const at::Device device : {at::kCPU, at::kMeta}) {
    const Tensor input = at::ones({2, 8, 6, 6, 6}, device).requires_grad_();
    const Tensor weight = at::ones({8}, device).requires_grad_(), bias = at::zeros_like(weight);
    constexpr int64_t numbers = (2 * 8 + 1) * sizeof(double);
    for (const bool adds : {false, true}) {
      const BatchMoments moments = batch_moments(input, nullptr);
      const SavedBytes own({weight, bias});
      const Tensor output = batch_norm_relu(input, moments,
                                            {.weight = weight,
                                             .bias = bias,
                                             .residual = adds ? at::ones_like(input) : Tensor(),
                                             .activated = true});
      EXPECT_EQ(own.bytes(), static_cast<int64_t>(input.nbytes()) * (adds ? 2 : 1) + numbers);
    }
  }
}

TEST(BatchNormRelu, HasSecondDerivatives) {
  const std::vector<int64_t> sizes{2, 6, 3, 2, 2};
  const Tensor input = drawn("input", sizes).requires_grad_();
  const Tensor gradient = drawn("gradient", sizes).requires_grad_();
  Tensors parts = parts_for(sizes);
  for (size_t i = 0; i < 3; ++i) parts[i].requires_grad_();
  const auto penalty = [&](const Tensor& output, bool adds) {
    Tensors learning{input, parts[0], parts[1]};
    if (adds) learning.push_back(parts[2]);
    const Tensors first = torch::autograd::grad({output}, learning, {gradient}, true, true);
    Tensor sum = first[0].pow(3).sum();
    for (size_t i = 1; i < first.size(); ++i) sum = sum + first[i].square().sum();
    learning.push_back(gradient);
    return torch::autograd::grad({sum}, learning, {}, {}, false, true);
  };
  for (const NormKind& kind : norm_kinds) {
    SCOPED_TRACE(words_of(kind));
    const Tensors own = penalty(own_norm(kind, input, parts), kind.adds);
    const Tensors truth = penalty(plain_batch_norm(kind, input, parts), kind.adds);
    for (size_t i = 0; i < own.size(); ++i) {
      const Tensor value = own[i].defined() ? own[i] : at::zeros({1}, at::kDouble);
      const Tensor expected = truth[i].defined() ? truth[i] : at::zeros({1}, at::kDouble);
      EXPECT_LE((value - expected).abs().max().item<double>(), 1e-9) << i;
    }
  }
}

TEST(BatchNormRelu, HidesNothingThatIsNoNumber) {
  Tensor input = drawn("input", {2, 3, 4, 4, 4});
  input[0][1][2][2][2] = std::numeric_limits<double>::quiet_NaN();
  const Tensors parts = parts_for({2, 3, 4, 4, 4});
  for (const NormKind& kind : norm_kinds) {
    const Tensor output = own_norm(kind, input, parts);
    EXPECT_TRUE(output[0][1][2][2][2].isnan().item<bool>()) << words_of(kind);
    EXPECT_FALSE(output[0][0].isnan().any().item<bool>()) << words_of(kind);
  }
}

TEST(BatchNormRelu, KeepsSixteenBitsUnderAutocast) {
  const AutocastScope autocast(c10::kCPU, Precision::bf16);
  const Tensors parts = parts_for({1, 4, 3, 3, 3});
  const Tensor input = drawn("input", {1, 4, 3, 3, 3});
  for (const at::ScalarType type : {at::kBFloat16, at::kFloat})
    EXPECT_EQ(own_norm({true, true, false}, input.to(type), parts).scalar_type(), type);
}

TEST(BatchNormRelu, TakesTensorsWithoutElements) {
  for (const auto& sizes : {std::vector<int64_t>{0, 4, 3, 3, 3}, std::vector<int64_t>{2, 4, 0, 3, 3}}) {
    const Tensor input = at::ones(sizes).requires_grad_();
    Tensors parts = parts_for(sizes);
    parts[0].requires_grad_();
    const Tensor output = own_norm({true, true, false}, input, parts);
    EXPECT_EQ(output.sizes(), input.sizes());
    output.sum().backward();
    EXPECT_EQ(parts[0].grad().abs().sum().item<double>(), 0);
    EXPECT_EQ(input.grad().sizes(), input.sizes());
  }
}

TEST(BatchNormRelu, WhatDoesNotFitIsRefused) {
  const Tensor input = at::ones({1, 6, 2, 2, 2}), of_five = at::ones({5}), of_six = at::ones({6});
  const BatchMoments moments = batch_moments(input, nullptr);
  EXPECT_THROW(batch_norm_relu(input, moments, {.weight = of_five, .bias = of_six}), std::logic_error);
  EXPECT_THROW(
      batch_norm_relu(input, moments, {.weight = of_six, .bias = of_six, .residual = at::ones({1, 6})}),
      std::logic_error);
  EXPECT_THROW(batch_moments(at::ones({4}), nullptr), std::logic_error);
}

}  // namespace
}  // namespace larmor::testing
