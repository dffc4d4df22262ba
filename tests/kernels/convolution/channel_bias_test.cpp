#include "larmor/kernels/convolution/channel_bias.h"

#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "larmor/kernels/draw/draw.h"

namespace larmor::testing {
namespace {

using at::Tensor;
using Sizes = std::vector<int64_t>;

Tensor drawn_numbers(const char* name, at::IntArrayRef sizes) {
  return draw_normal(6, name, sizes).to(at::kDouble);
}

Tensor sums_by_the_operator(const Tensor& gradient, bool of_each_sample) {
  return c10::Dispatcher::singleton()
      .findSchemaOrThrow("larmor::channel_sums", "")
      .typed<Tensor(const Tensor&, bool, at::ScalarType)>()
      .call(gradient, of_each_sample, at::kDouble);
}

TEST(ChannelBias, IsAddedInPlaceToAllVoxelsOfAChannel) {
  const Tensor input = drawn_numbers("input", {2, 3, 4, 5, 6});
  for (const Sizes& sizes : {Sizes{3}, Sizes{2, 3}}) {
    const Tensor bias = drawn_numbers("bias", sizes), copy = input.clone();
    const Tensor sum = add_channel_bias(copy, bias);
    EXPECT_TRUE(sum.is_same(copy));
    for (int64_t sample = 0; sample < 2; ++sample)
      for (int64_t channel = 0; channel < 3; ++channel) {
        const Tensor own = sizes.size() == 1 ? bias[channel] : bias[sample][channel];
        EXPECT_TRUE(at::equal(sum[sample][channel], input[sample][channel] + own));
      }
  }
}

TEST(ChannelBias, ItsGradientIsTheSumOverVoxels) {
  for (const Sizes& sizes : {Sizes{3}, Sizes{2, 3}}) {
    const Tensor input = drawn_numbers("input", {2, 3, 4, 5}).requires_grad_();
    const Tensor bias = drawn_numbers("bias", sizes).requires_grad_(),
                 gradient = drawn_numbers("gradient", input.sizes());
    add_channel_bias(input * 1, bias).backward(gradient);
    EXPECT_TRUE(at::equal(input.grad(), gradient));
    const Tensor sums = sums_by_the_operator(gradient, sizes.size() == 2);
    EXPECT_EQ(sums.sizes(), bias.sizes());
    EXPECT_LE((bias.grad() - sums).abs().max().item<double>(), 1e-13);
  }
}

TEST(ChannelBias, WhatDoesNotFitIsRefused) {
  const Tensor input = at::zeros({2, 3, 4});
  EXPECT_THROW(add_channel_bias(input, at::zeros({4})), std::logic_error);
  EXPECT_THROW(add_channel_bias(input, at::zeros({3, 3})), std::logic_error);
  EXPECT_THROW(add_channel_bias(input, at::zeros({})), std::logic_error);
}

}  // namespace
}  // namespace larmor::testing
