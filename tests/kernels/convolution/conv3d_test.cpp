#include "larmor/kernels/convolution/conv3d.h"

#include <algorithm>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "larmor/device/autocast.h"
#include "larmor/device/layout.h"
#include "larmor/kernels/convolution/conv3d_form.h"
#include "larmor/kernels/draw/draw.h"

namespace larmor {
namespace {

/// What libtorch hands out next without clearing it is far from zero.
void leave_large_numbers_behind() {
  std::vector<at::Tensor> kept;
  for (int64_t i = 1; i <= 20; ++i) kept.push_back(at::full({i * 4096}, 1e30F));
}

struct Convolution {
  std::array<int64_t, 3> image, kernel, stride;
  int64_t samples, in, out;
  Layout layout = Layout::contiguous;
};

struct Gradients {
  at::Tensor output, of_input, of_weight, of_bias;
};

Gradients convolve(const Convolution& of, Precision precision) {
  const auto learnt = [&](const char* name, at::IntArrayRef shape) {
    const at::Tensor drawn = draw_normal(1, name, shape);
    return (precision == Precision::fp64 ? drawn.to(at::kDouble) : drawn).requires_grad_();
  };
  const at::Tensor input = learnt("input", {of.samples, of.in, of.image[0], of.image[1], of.image[2]});
  const at::Tensor weight = learnt("weight", {of.out, of.in, of.kernel[0], of.kernel[1], of.kernel[2]});
  const at::Tensor bias = learnt("bias", {of.out});
  leave_large_numbers_behind();
  at::Tensor output;
  {
    const AutocastScope autocast(at::kCPU, precision);
    const LayoutScope layout(of.layout);
    output = conv3d(input, weight, bias, of.stride, {of.kernel[0] / 2, of.kernel[1] / 2, of.kernel[2] / 2});
  }
  output.backward(draw_normal(1, "gradient", output.sizes()).to(output.scalar_type()));
  return {output, input.grad(), weight.grad(), bias.grad()};
}

double distance(const at::Tensor& actual, const at::Tensor& wanted) {
  return (actual.to(at::kDouble) - wanted.to(at::kDouble)).norm().item<double>() /
         wanted.to(at::kDouble).norm().item<double>();
}

/// Relative to the tensor's own size.
void expect_close(const Convolution& of, Precision precision, double most) {
  const Gradients exact = convolve(of, Precision::fp64), rounded = convolve(of, precision);
  const double largest =
      std::max({distance(rounded.output, exact.output), distance(rounded.of_input, exact.of_input),
                distance(rounded.of_weight, exact.of_weight), distance(rounded.of_bias, exact.of_bias)});
  EXPECT_LT(largest, most) << to_text(precision) << ", image " << at::IntArrayRef(of.image) << ", kernel "
                           << at::IntArrayRef(of.kernel) << ", stride " << of.stride[0];
}

std::array<int64_t, 3> cube(int64_t size) { return {size, size, size}; }

bool is_by_winograd(const Convolution& of) {
  const LayoutScope layout(of.layout);
  return conv3d_form(at::empty({of.samples, of.in, of.image[0], of.image[1], of.image[2]}),
                     at::empty({of.out, of.in, of.kernel[0], of.kernel[1], of.kernel[2]}), of.stride,
                     {of.kernel[0] / 2, of.kernel[1] / 2, of.kernel[2] / 2})
             .path == ConvPath::winograd;
}

TEST(Conv3d, HasTheGradientsOfDoubleHoweverSmallTheImage) {
  for (const int64_t kernel : {1, 3, 5, 7}) {
    for (const int64_t image : {1, 2, 3, 4, 5, 6, 7, 8}) {
      for (const int64_t stride : {1, 2}) {
        for (const Layout layout : {Layout::contiguous, Layout::channels_last}) {
          const Convolution small{cube(image), cube(kernel), cube(stride), 3, 16, 32, layout};
          expect_close(small, Precision::fp32, 1e-5);
          expect_close(small, Precision::bf16, 0.03);
        }
      }
    }
  }
}

TEST(Conv3d, HasThemForFlatImagesToo) {
  for (const auto& image : {std::array<int64_t, 3>{2, 8, 8}, {8, 8, 2}, {8, 2, 2}, {1, 9, 9}}) {
    for (const auto& kernel : {cube(3), std::array<int64_t, 3>{7, 5, 5}}) {
      expect_close({image, kernel, cube(1), 2, 16, 16}, Precision::fp32, 1e-5);
      expect_close({image, kernel, cube(2), 2, 16, 16}, Precision::bf16, 0.03);
    }
  }
}

TEST(Conv3d, KeepsItsGradientsWithOneChannelOnEitherSide) {
  for (const Layout layout : {Layout::contiguous, Layout::channels_last}) {
    for (const auto& [in, out] : {std::pair<int64_t, int64_t>{1, 16}, {16, 1}, {1, 1}}) {
      expect_close({cube(9), cube(3), cube(1), 2, in, out, layout}, Precision::fp32, 1e-5);
      expect_close({cube(9), cube(3), cube(1), 2, in, out, layout}, Precision::bf16, 0.03);
    }
  }
}

TEST(Conv3d, GivesVolumesInTheLayoutOfItsScope) {
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    for (const int64_t channels : {1, 16}) {
      const Gradients beside =
          convolve({cube(9), cube(3), cube(1), 2, channels, 16, Layout::channels_last}, precision);
      EXPECT_TRUE(beside.output.is_contiguous(at::MemoryFormat::ChannelsLast3d)) << beside.output.strides();
      const Gradients apart = convolve({cube(9), cube(3), cube(1), 2, channels, 16}, precision);
      EXPECT_TRUE(apart.output.is_contiguous()) << apart.output.strides();
    }
  }
}

/// They are convolved in the other layout, and come out in that of the scope.
TEST(Conv3d, HidesInWhichLayoutShortRowsAreConvolved) {
  for (const int64_t row : {1, 2, 3, 4, 5, 8}) {
    for (const int64_t stride : {1, 2}) {
      for (const Precision precision : {Precision::fp32, Precision::bf16}) {
        const Convolution last{{8, 7, row}, cube(3), cube(stride), 2, 128, 160, Layout::channels_last};
        expect_close(last, precision, precision == Precision::fp32 ? 1e-5 : 0.03);
        const Gradients beside = convolve(last, precision);
        EXPECT_TRUE(beside.output.is_contiguous(at::MemoryFormat::ChannelsLast3d)) << beside.output.strides();
        Convolution first = last;
        first.layout = Layout::contiguous;
        const bool is_short = (row - 1) / stride + 1 <= 4;
        if (!is_short || precision == Precision::bf16 || is_by_winograd(last)) continue;
        EXPECT_TRUE(at::equal(convolve(first, precision).output, beside.output)) << "row " << row;
      }
    }
  }
}

TEST(Conv3d, HasTheGradientsOfDoubleWhereItsKernelIsOneVoxel) {
  for (const Layout layout : {Layout::contiguous, Layout::channels_last}) {
    for (const auto& [in, out] : {std::pair<int64_t, int64_t>{96, 32}, {32, 96}, {8, 640}}) {
      const Convolution shortcut{{8, 9, 10}, cube(1), cube(1), 2, in, out, layout};
      expect_close(shortcut, Precision::fp32, 1e-5);
      expect_close(shortcut, Precision::bf16, 0.03);
      expect_close({{8, 9, 10}, cube(1), cube(2), 2, in, out, layout}, Precision::fp32, 1e-5);
    }
  }
}

TEST(Conv3d, HasTheSameBitsOnAnyNumberOfThreadsWhereItsKernelIsOneVoxel) {
  const Convolution shortcut{{16, 16, 16}, cube(1), cube(1), 2, 96, 32, Layout::channels_last};
  const int usual = at::get_num_threads();
  at::set_num_threads(1);
  const Gradients on_one = convolve(shortcut, Precision::fp32);
  at::set_num_threads(3);
  const Gradients on_three = convolve(shortcut, Precision::fp32);
  at::set_num_threads(usual);
  EXPECT_TRUE(at::equal(on_one.output, on_three.output));
  EXPECT_TRUE(at::equal(on_one.of_input, on_three.of_input));
  EXPECT_TRUE(at::equal(on_one.of_weight, on_three.of_weight));
  EXPECT_TRUE(at::equal(on_one.of_bias, on_three.of_bias));
}

/// The gradient of a norm of the gradients, in float32.
std::vector<at::Tensor> second_derivatives_of_a_shortcut(Layout of_layout) {
  const auto learnt = [](const char* name, at::IntArrayRef shape) {
    return draw_normal(1, name, shape).requires_grad_();
  };
  const std::vector<at::Tensor> leaves{learnt("input", {2, 32, 8, 8, 8}), learnt("weight", {32, 32, 1, 1, 1}),
                                       learnt("bias", {32})};
  const LayoutScope layout(of_layout);
  const at::Tensor output = conv3d(leaves[0], leaves[1], leaves[2], cube(1), cube(0));
  const auto first = torch::autograd::grad({output.pow(2).mean()}, leaves, {}, /*retain_graph=*/true,
                                           /*create_graph=*/true);
  return torch::autograd::grad({first[0].square().sum() + first[1].square().sum() + first[2].square().sum()},
                               leaves);
}

TEST(Conv3d, HasSecondDerivativesWhereItsKernelIsOneVoxel) {
  const auto products = second_derivatives_of_a_shortcut(Layout::channels_last);
  const auto plain = second_derivatives_of_a_shortcut(Layout::contiguous);
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_LT(distance(products[i], plain[i]), 1e-5) << i;
}

TEST(Conv3d, IsLibtorchsWhereTheImageIsLonger) {
  const Gradients ours = convolve({cube(5), cube(3), cube(2), 2, 4, 8}, Precision::fp32);
  const at::Tensor output =
      at::conv3d(draw_normal(1, "input", {2, 4, 5, 5, 5}), draw_normal(1, "weight", {8, 4, 3, 3, 3}),
                 draw_normal(1, "bias", {8}), 2, 1);
  EXPECT_TRUE(at::equal(ours.output, output));
}

}  // namespace
}  // namespace larmor
