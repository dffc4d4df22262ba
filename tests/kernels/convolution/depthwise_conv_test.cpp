#include "larmor/kernels/convolution/depthwise_conv.h"

#include <algorithm>
#include <vector>

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
using Sizes = std::vector<int64_t>;

Tensor libtorch_depthwise(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  return at::conv2d(input, weight, bias, 1, 3, 1, input.size(1));
}

using Depthwise = Tensor(const Tensor&, const Tensor&, const Tensor&);

/// Blocks of 16, 8 and 4 channels, pictures smaller than the kernel, odd and long ones.
const std::vector<Sizes>& picture_sizes() {
  static const std::vector<Sizes> sizes{{2, 40, 17, 12}, {3, 28, 7, 9}, {1, 4, 1, 1},
                                        {2, 16, 3, 40},  {4, 12, 5, 2}, {1, 60, 30, 31}};
  return sizes;
}

/// The output, and the gradients of input, weight and bias.
std::vector<Tensor> learn(Depthwise* convolve, const Sizes& size, at::ScalarType type = at::kFloat) {
  const auto drawn = [&](const char* name, const Sizes& sizes) {
    return draw_normal(5, name, sizes).to(type).contiguous(at::MemoryFormat::ChannelsLast).requires_grad_();
  };
  const Tensor input = drawn("input", size), weight = drawn("weight", {size[1], 1, 7, 7}),
               bias = draw_normal(5, "bias", {size[1]}).to(type).requires_grad_();
  const Tensor output = convolve(input, weight, bias);
  output.backward(draw_normal(5, "gradient", output.sizes()).to(type));
  return {output.detach(), input.grad(), weight.grad(), bias.grad()};
}

double relative_error(const Tensor& actual, const Tensor& wanted) {
  return ((actual.to(at::kDouble) - wanted).norm() / wanted.norm()).item<double>();
}

TEST(DepthwiseConv, IsLibtorchsWithTheGradientsOfDouble) {
  for (const Sizes& size : picture_sizes()) {
    const auto ours = learn(depthwise_conv, size), theirs = learn(libtorch_depthwise, size),
               exact = learn(libtorch_depthwise, size, at::kDouble);
    EXPECT_TRUE(ours[0].equal(theirs[0]) && ours[1].equal(theirs[1])) << at::IntArrayRef(size);
    for (std::size_t i = 0; i < ours.size(); ++i)
      EXPECT_LT(relative_error(ours[i], exact[i]), 1e-6) << i << " " << at::IntArrayRef(size);
  }
}

TEST(DepthwiseConv, IsItsTwinInEveryType) {
  register_meta_kernels();
  const Tensor weight = draw_normal(6, "weight", {8, 1, 7, 7}).to(at::kDouble),
               bias = draw_normal(6, "bias", {8}).to(at::kDouble);
  const auto by = [](Depthwise* convolve) {
    return [convolve](const Tensor& input, const std::vector<Tensor>& others) {
      const Tensor pictures = input.contiguous(at::MemoryFormat::ChannelsLast);
      // libtorch's shapes on the meta device lie otherwise than its results do.
      return convolve(pictures, others[0].to(input.scalar_type()), others[1].to(input.scalar_type()))
          .contiguous();
    };
  };
  expect_twin(by(depthwise_conv), by(libtorch_depthwise), {.sizes = {2, 8, 5, 4}, .others = {weight, bias}});
}

TEST(DepthwiseConv, LearnsTheSameBitsOnAnyNumberOfThreads) {
  const int before = at::get_num_threads();
  for (const Sizes& size : picture_sizes()) {
    at::set_num_threads(1);
    const auto alone = learn(depthwise_conv, size);
    for (const int count : {2, 3, 8}) {
      at::set_num_threads(count);
      EXPECT_TRUE(learn(depthwise_conv, size)[2].equal(alone[2])) << count << " " << at::IntArrayRef(size);
    }
  }
  at::set_num_threads(before);
}

TEST(DepthwiseConv, LeavesOtherLayoutsAndTypesToLibtorch) {
  const Tensor weight = at::ones({8, 1, 7, 7});
  const Tensor input = at::ones({2, 8, 9, 9}).contiguous(at::MemoryFormat::ChannelsLast);
  EXPECT_TRUE(is_depthwise_by_loop(input, weight));
  EXPECT_FALSE(is_depthwise_by_loop(input.contiguous(), weight));
  EXPECT_FALSE(is_depthwise_by_loop(input.to(at::kDouble), weight.to(at::kDouble)));
  EXPECT_FALSE(is_depthwise_by_loop(input.to(at::kMeta), weight.to(at::kMeta)));
  const Tensor odd = at::ones({2, 6, 9, 9}).contiguous(at::MemoryFormat::ChannelsLast);
  EXPECT_FALSE(is_depthwise_by_loop(odd, weight.narrow(0, 0, 6)));
  const AutocastScope autocast(at::kCPU, Precision::bf16);
  EXPECT_FALSE(is_depthwise_by_loop(input, weight));
}

TEST(DepthwiseConv, KeepsWhatLibtorchKeepsAndHasASecondDerivative) {
  const Tensor input =
      draw_normal(9, "input", {2, 8, 9, 9}).contiguous(at::MemoryFormat::ChannelsLast).requires_grad_();
  const Tensor weight = draw_normal(9, "weight", {8, 1, 7, 7}).requires_grad_(),
               bias = draw_normal(9, "bias", {8}).requires_grad_();
  const auto kept = [&](Depthwise* convolve) {
    const SavedBytes saved;
    const Tensor output = convolve(input, weight, bias);
    return saved.bytes();
  };
  EXPECT_EQ(kept(depthwise_conv), kept(libtorch_depthwise));
  const auto second = [&](Depthwise* convolve) {
    const Tensor value = convolve(input, weight, bias).square().sum();
    const auto first = torch::autograd::grad({value}, {input}, {}, true, /*create_graph=*/true);
    return torch::autograd::grad({first[0].square().sum()}, {weight})[0];
  };
  EXPECT_LT(relative_error(second(depthwise_conv), second(libtorch_depthwise).to(at::kDouble)), 1e-5);
}

}  // namespace
}  // namespace larmor::testing
