#include "larmor/kernels/convolution/column_conv.h"

#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "larmor/device/autocast.h"
#include "larmor/kernels/convolution/conv3d.h"
#include "larmor/kernels/convolution/conv3d_form.h"
#include "larmor/kernels/draw/draw.h"

#include "tests/kernels/support/outputs_and_gradients.h"

namespace larmor::testing {
namespace {

using at::Tensor;
using PerAxis = std::array<int64_t, 3>;

struct ColumnCase {
  std::vector<int64_t> image, kernel;  // [N, C, D, H, W], [O, C, d, h, w]
  PerAxis stride, padding;
};

// More results than one stretch has, kernels of unequal axes, an axis that a kernel reaches over, one voxel.
const std::vector<ColumnCase> column_cases{{{3, 5, 9, 10, 11}, {7, 5, 3, 3, 3}, {1, 1, 1}, {1, 1, 1}},
                                           {{2, 16, 6, 7, 5}, {40, 16, 5, 3, 2}, {2, 1, 3}, {2, 1, 0}},
                                           {{1, 3, 1, 2, 1}, {33, 3, 7, 7, 7}, {1, 2, 2}, {3, 3, 3}},
                                           {{2, 31, 4, 4, 4}, {32, 31, 1, 1, 1}, {1, 1, 1}, {0, 0, 0}}};

Tensor numbers_for_columns(const char* name, at::IntArrayRef sizes) {
  return draw_normal(4, name, sizes).to(at::kBFloat16).to(at::kFloat);
}

std::vector<Tensor> all_by_columns(const ColumnCase& of, at::ScalarType type) {
  const Tensor volumes = numbers_for_columns("volumes", of.image).to(type),
               kernel = numbers_for_columns("kernel", of.kernel).to(type),
               bias = numbers_for_columns("bias", {of.kernel[0]}).to(type);
  const Tensor output = column_conv(volumes, kernel, bias, of.stride, of.padding);
  const Tensor slopes = numbers_for_columns("slopes", output.sizes()).to(type);
  const auto [of_volumes, of_kernel, of_bias] =
      column_conv_gradients(slopes, volumes, kernel, of.stride, of.padding, {true, true, true});
  return {output, of_volumes, of_kernel, of_bias};
}

std::vector<Tensor> all_in_float64(const ColumnCase& of) {
  const auto leaf = [](const char* name, at::IntArrayRef sizes) {
    return numbers_for_columns(name, sizes).to(at::kDouble).requires_grad_();
  };
  const std::vector<Tensor> leaves{leaf("volumes", of.image), leaf("kernel", of.kernel),
                                   leaf("bias", {of.kernel[0]})};
  const Tensor output = at::conv3d(leaves[0], leaves[1], leaves[2], of.stride, of.padding);
  std::vector<Tensor> all{output.detach()};
  for (const Tensor& gradient : torch::autograd::grad(
           {output}, leaves, {numbers_for_columns("slopes", output.sizes()).to(at::kDouble)}))
    all.push_back(gradient);
  return all;
}

TEST(ColumnConv, IsTheConvolutionOfFloat64) {
  for (const ColumnCase& of : column_cases) {
    const auto exact = all_in_float64(of);
    EXPECT_LT(most_apart(all_by_columns(of, at::kFloat), exact), 0x1p-20) << at::IntArrayRef(of.image);
    EXPECT_LT(most_apart(all_by_columns(of, at::kBFloat16), exact), 0x1p-7) << at::IntArrayRef(of.image);
  }
}

TEST(ColumnConv, HasTheSameBitsOnAnyNumberOfThreads) {
  const int usual = at::get_num_threads();
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    at::set_num_threads(1);
    const auto on_one = all_by_columns(column_cases[0], type);
    at::set_num_threads(3);
    EXPECT_TRUE(have_equal_bits(all_by_columns(column_cases[0], type), on_one)) << type;
  }
  at::set_num_threads(usual);
}

TEST(ColumnConv, GivesTheGradientsThatAreWanted) {
  const Tensor volumes = numbers_for_columns("volumes", {1, 2, 3, 3, 3}),
               kernel = numbers_for_columns("kernel", {4, 2, 3, 3, 3}),
               slopes = numbers_for_columns("slopes", {1, 4, 3, 3, 3});
  const auto found =
      column_conv_gradients(slopes, volumes, kernel, {1, 1, 1}, {1, 1, 1}, {false, true, false});
  EXPECT_FALSE(std::get<0>(found).defined());
  EXPECT_TRUE(std::get<1>(found).defined());
  EXPECT_FALSE(std::get<2>(found).defined());
}

/// The gradient of a norm of the gradients of conv3d(), in the type of the leaves.
std::vector<Tensor> norm_derivatives_of_columns(at::ScalarType type) {
  const auto leaf = [&](const char* name, at::IntArrayRef sizes) {
    return numbers_for_columns(name, sizes).to(type).requires_grad_();
  };
  const std::vector<Tensor> leaves{leaf("volumes", {2, 3, 4, 5, 3}), leaf("kernel", {4, 3, 5, 3, 3}),
                                   leaf("bias", {4})};
  const Tensor output = conv3d(leaves[0], leaves[1], leaves[2], {1, 1, 1}, {2, 1, 1});
  const auto first = torch::autograd::grad({output.pow(2).mean()}, leaves, {}, /*retain_graph=*/true,
                                           /*create_graph=*/true);
  Tensor sum = at::zeros({}, type);
  for (const Tensor& gradient : first) sum = sum + gradient.square().sum();
  return torch::autograd::grad({sum}, leaves);
}

TEST(ColumnConv, HasSecondDerivatives) {
  const Tensor image = at::empty({2, 3, 4, 5, 3}), kernel = at::empty({4, 3, 5, 3, 3});
  ASSERT_EQ(conv3d_form(image, kernel, {1, 1, 1}, {2, 1, 1}).path, ConvPath::columns);
  EXPECT_LT(most_apart(norm_derivatives_of_columns(at::kFloat), norm_derivatives_of_columns(at::kDouble)),
            0x1p-18);
}

}  // namespace
}  // namespace larmor::testing
