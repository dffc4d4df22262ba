#include "larmor/kernels/convolution/upsample_conv.h"

#include <algorithm>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "larmor/device/autocast.h"
#include "larmor/device/meta/meta_kernels.h"
#include "larmor/device/meta/saved_bytes.h"
#include "larmor/kernels/draw/draw.h"

#include "tests/kernels/support/expect_twin.h"

namespace larmor::testing {
namespace {

using Sizes = std::vector<int64_t>;
using Tensors = std::vector<at::Tensor>;

/// What upsample_conv() stands for, by libtorch alone.
at::Tensor upsample_then_convolve(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias) {
  const std::vector<double> twice(3, 2.0);
  return at::conv3d(at::upsample_nearest3d(input, at::OptionalIntArrayRef(), twice), weight, bias, 1, 1);
}

using Doubling = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&);

/// How a result is made: the small image, its type and layout.
struct DoublingCase {
  Sizes image;  // [N, C, D, H, W]
  int64_t out;
  Precision precision = Precision::fp64;
  at::MemoryFormat layout = at::MemoryFormat::Contiguous;
};

struct Learnt {
  at::Tensor output, of_input, of_weight, of_bias;
};

/// Memory that libtorch hands out next without clearing it is far from zero.
void fill_free_memory() {
  std::vector<at::Tensor> kept;
  for (int64_t i = 1; i <= 20; ++i) kept.push_back(at::full({i * 4096}, 1e30F));
}

Learnt learn(Doubling* double_image, const DoublingCase& of) {
  const auto learnt = [&](const char* name, at::IntArrayRef shape) {
    const at::Tensor drawn = draw_normal(1, name, shape);
    return of.precision == Precision::fp64 ? drawn.to(at::kDouble) : drawn;
  };
  const at::Tensor input = learnt("input", of.image).contiguous(of.layout).requires_grad_();
  const at::Tensor weight = learnt("weight", {of.out, of.image[1], 3, 3, 3}).requires_grad_();
  const at::Tensor bias = learnt("bias", {of.out}).requires_grad_();
  fill_free_memory();
  at::Tensor output;
  {
    const AutocastScope autocast(at::kCPU, of.precision);
    output = double_image(input, weight, bias);
  }
  output.backward(learnt("gradient", output.sizes()).to(output.scalar_type()));
  return {output, input.grad(), weight.grad(), bias.grad()};
}

double apart(const at::Tensor& actual, const at::Tensor& wanted) {
  return (actual.to(at::kDouble) - wanted.to(at::kDouble)).norm().item<double>() /
         wanted.to(at::kDouble).norm().item<double>();
}

double farthest_apart(const Learnt& actual, const Learnt& wanted) {
  return std::max({apart(actual.output, wanted.output), apart(actual.of_input, wanted.of_input),
                   apart(actual.of_weight, wanted.of_weight), apart(actual.of_bias, wanted.of_bias)});
}

/// Relative to each tensor's own size, beside the plain pair in float64.
void expect_as_plain(DoublingCase of, double most) {
  const Learnt ours = learn(upsample_conv, of);
  DoublingCase exact = of;
  exact.precision = Precision::fp64;
  EXPECT_LT(farthest_apart(ours, learn(upsample_then_convolve, exact)), most)
      << to_text(of.precision) << ", image " << at::IntArrayRef(of.image) << ", " << of.out << " channels, "
      << of.layout;
}

const std::vector<at::MemoryFormat>& both_layouts() {
  static const std::vector<at::MemoryFormat> layouts{at::MemoryFormat::Contiguous,
                                                     at::MemoryFormat::ChannelsLast3d};
  return layouts;
}

TEST(UpsampleConv, IsUpsamplingAndAConvolution) {
  for (const at::MemoryFormat layout : both_layouts()) {
    for (const Sizes& image : {Sizes{2, 5, 4, 6, 5}, {1, 1, 4, 4, 4}, {3, 4, 7, 4, 9}, {2, 3, 1, 4, 5}})
      expect_as_plain({.image = image, .out = 3, .layout = layout}, 1e-12);
    expect_as_plain({.image = {2, 16, 8, 8, 8}, .out = 24, .precision = Precision::fp32, .layout = layout},
                    2e-6);
    expect_as_plain({.image = {1, 32, 5, 9, 6}, .out = 8, .precision = Precision::fp32, .layout = layout},
                    2e-6);
    expect_as_plain({.image = {2, 16, 8, 8, 8}, .out = 24, .precision = Precision::bf16, .layout = layout},
                    0.02);
  }
}

TEST(UpsampleConv, HasTheGradientsOfDoubleHoweverSmallTheImage) {
  for (const at::MemoryFormat layout : both_layouts()) {
    for (const Sizes& image : {Sizes{3, 16, 1, 1, 1},
                               {3, 16, 2, 2, 2},
                               {3, 16, 3, 3, 3},
                               {3, 16, 4, 4, 4},
                               {3, 16, 5, 5, 5},
                               {2, 16, 2, 8, 8},
                               {2, 16, 8, 8, 1},
                               {2, 16, 4, 8, 4}}) {
      expect_as_plain({.image = image, .out = 32, .precision = Precision::fp32, .layout = layout}, 1e-5);
      expect_as_plain({.image = image, .out = 32, .precision = Precision::bf16, .layout = layout}, 0.03);
    }
  }
}

TEST(UpsampleConv, TheShortestAxisAloneDecidesWhichWayIsTaken) {
  const auto takes_small_grid = [](const Sizes& image) { return is_for_small_grid(at::empty(image)); };
  EXPECT_TRUE(takes_small_grid({1, 1, 4, 4, 4}));
  EXPECT_TRUE(takes_small_grid({8, 256, 4, 4, 4}));
  EXPECT_FALSE(takes_small_grid({8, 256, 3, 4, 4}));
  EXPECT_FALSE(takes_small_grid({1, 1, 64, 64, 3}));
  // And it is what upsample_conv() asks: the volume in between is kept for backward or it is not.
  for (const auto& [depth, kept] : {std::pair(4, 0), std::pair(3, 8 * 3 * 4 * 4)}) {
    register_meta_kernels();
    const auto on_meta = [](const Sizes& sizes) {
      return at::empty(sizes, at::TensorOptions(at::kMeta)).requires_grad_();
    };
    const at::Tensor input = on_meta({2, 32, depth, 4, 4}), weight = on_meta({1, 32, 3, 3, 3}),
                     bias = on_meta({1});
    const SavedBytes saved({input, weight, bias});
    const at::Tensor output = upsample_conv(input, weight, bias);
    EXPECT_EQ(saved.bytes(), 4 * 2 * 32 * kept);
  }
}

TEST(UpsampleConv, TheKernelAddsNeighbouringTaps) {
  // One axis holds 1, 10 and 100, the others a single one in the middle or at an end.
  at::Tensor weight = at::zeros({1, 1, 3, 3, 3}, at::kDouble);
  weight[0][0][0][2] = at::tensor({1.0, 10.0, 100.0}, at::kDouble);
  const at::Tensor kernel = doubling_kernel(weight)[0][0];
  const at::Tensor along = at::tensor({100.0, 110.0, 11.0, 1.0}, at::kDouble);
  for (const int64_t depth : {0, 1, 2, 3}) {
    for (const int64_t height : {0, 1, 2, 3}) {
      const bool is_there = depth >= 2 && height < 2;
      EXPECT_TRUE(at::equal(kernel[depth][height], is_there ? along : at::zeros_like(along)))
          << depth << " " << height;
    }
  }
}

TEST(UpsampleConv, KeepsTheLayoutOfTheInput) {
  for (const at::MemoryFormat of_weight : both_layouts()) {
    const at::Tensor weight = draw_normal(1, "weight", {6, 5, 3, 3, 3}).contiguous(of_weight);
    for (const at::MemoryFormat layout : both_layouts()) {
      for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
        const at::Tensor input = draw_normal(1, "input", {2, 5, 4, 5, 6}).to(type).contiguous(layout);
        EXPECT_TRUE(upsample_conv(input, weight.to(type), {}).is_contiguous(layout));
      }
    }
  }
}

TEST(UpsampleConv, HasATwinOnEachLayoutAndType) {
  register_meta_kernels();
  const at::Tensor weight = draw_normal(2, "weight", {3, 2, 3, 3, 3}), bias = draw_normal(2, "bias", {3});
  const auto with = [](Doubling* double_image) {
    return [double_image](const at::Tensor& input, const std::vector<at::Tensor>& others) {
      return double_image(input, others[0].to(input.scalar_type()), others[1].to(input.scalar_type()));
    };
  };
  expect_twin(with(upsample_conv), with(upsample_then_convolve),
              {.sizes = {1, 2, 4, 4, 4},
               .others = {weight, bias},
               .tolerance = 1e-5,
               .types = {at::kFloat, at::kDouble}});
}

TEST(UpsampleConv, AddsTapsOfSmallTypesInFloat32) {
  // In bf16 1 + 1/256 is 1: taps added there would lose the small ones.
  const at::Tensor weight = at::full({1, 1, 3, 3, 3}, 1.0 / 256, at::kBFloat16);
  weight.select(2, 1).fill_(1);
  const at::Tensor kernel = doubling_kernel(weight);
  EXPECT_EQ(kernel.scalar_type(), at::kFloat);
  EXPECT_TRUE(at::equal(kernel, doubling_kernel(weight.to(at::kDouble)).to(at::kFloat)));
  const AutocastScope autocast(at::kCPU, Precision::bf16);
  EXPECT_EQ(doubling_kernel(weight.to(at::kFloat)).scalar_type(), at::kFloat);
}

/// The gradient of the weight, by loops of our own, and by libtorch's operators where it is to be
/// differentiated itself.
Tensors gradients_of_weight(const DoublingCase& of, bool by_operators) {
  const at::ScalarType type = of.precision == Precision::fp64 ? at::kDouble : at::kFloat;
  const at::Tensor input = draw_normal(3, "input", of.image).to(type).contiguous(of.layout);
  const at::Tensor weight =
      draw_normal(3, "weight", {of.out, of.image[1], 3, 3, 3}).to(type).requires_grad_();
  at::Tensor output;
  {
    const AutocastScope autocast(at::kCPU, of.precision);
    output = upsample_conv(input, weight, {});
  }
  const at::Tensor gradient = draw_normal(3, "gradient", output.sizes()).to(output.scalar_type());
  Tensors found = torch::autograd::grad({output}, {weight}, {gradient}, /*retain_graph=*/true, by_operators);
  found.push_back(output);
  return found;
}

TEST(UpsampleConv, AddsTapsByLoopsWithTheBitsOfLibtorchsOperators) {
  for (const at::MemoryFormat layout : both_layouts()) {
    for (const Precision precision : {Precision::fp64, Precision::fp32, Precision::bf16}) {
      for (const int64_t out : {1, 7, 16, 37}) {
        const DoublingCase of{.image = {2, 5, 4, 5, 6}, .out = out, .precision = precision, .layout = layout};
        const Tensors loops = gradients_of_weight(of, /*by_operators=*/false);
        EXPECT_TRUE(at::equal(loops[0], gradients_of_weight(of, /*by_operators=*/true)[0]))
            << to_text(precision) << " " << layout << " " << out;
        const at::ScalarType type = loops[1].scalar_type();
        const at::Tensor input = draw_normal(3, "input", of.image).to(type).contiguous(layout);
        const at::Tensor weight = draw_normal(3, "weight", {out, 5, 3, 3, 3})
                                      .to(precision == Precision::fp64 ? at::kDouble : at::kFloat);
        const at::Tensor kernel = doubling_kernel(weight).to(type).contiguous(layout);
        EXPECT_TRUE(at::equal(loops[1], at::conv_transpose3d(input, kernel, {}, 2, 1)))
            << to_text(precision) << " " << layout << " " << out;
      }
    }
  }
}

/// The gradient of a norm of the gradients: what a gradient penalty asks for.
std::vector<at::Tensor> second_derivatives(Doubling* double_image) {
  const auto learnt = [](const char* name, at::IntArrayRef shape) {
    return draw_normal(1, name, shape).to(at::kDouble).requires_grad_();
  };
  const std::vector<at::Tensor> inputs{learnt("input", {2, 3, 4, 4, 5}), learnt("weight", {2, 3, 3, 3, 3}),
                                       learnt("bias", {2})};
  const at::Tensor output = double_image(inputs[0], inputs[1], inputs[2]);
  const auto first = torch::autograd::grad({output.pow(3).sum()}, inputs, {}, /*retain_graph=*/true,
                                           /*create_graph=*/true);
  return torch::autograd::grad({first[0].square().sum() + first[1].square().sum() + first[2].square().sum()},
                               inputs);
}

TEST(UpsampleConv, HasSecondDerivatives) {
  const auto ours = second_derivatives(upsample_conv), plain = second_derivatives(upsample_then_convolve);
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_LT(apart(ours[i], plain[i]), 1e-12) << i;
}

}  // namespace
}  // namespace larmor::testing
