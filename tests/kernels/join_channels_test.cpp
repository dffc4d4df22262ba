#include "larmor/kernels/join_channels.h"

#include <array>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

namespace larmor {
namespace {

constexpr auto last = at::MemoryFormat::ChannelsLast3d;

at::Tensor leaf(at::IntArrayRef sizes, at::MemoryFormat format) {
  return at::randn(sizes, at::kDouble).contiguous(format).requires_grad_();
}

TEST(JoinChannels, GivesWhatCatGivesInTheSameLayout) {
  at::manual_seed(1);
  for (const at::MemoryFormat format : {last, at::MemoryFormat::Contiguous}) {
    const at::Tensor first = leaf({2, 3, 4, 5, 6}, format), second = leaf({2, 5, 4, 5, 6}, format);
    const at::Tensor joined = join_channels(first, second), expected = at::cat({first, second}, 1);
    EXPECT_TRUE(at::equal(joined, expected));
    EXPECT_EQ(joined.strides(), expected.strides());
  }
}

TEST(JoinChannels, GradientsOfPartsAreWholeInTheLayoutOfTheSums) {
  for (const at::MemoryFormat format : {last, at::MemoryFormat::Contiguous}) {
    const at::Tensor first = leaf({2, 3, 4, 5, 6}, format), second = leaf({2, 5, 4, 5, 6}, format);
    const at::Tensor of_joined = at::randn({2, 8, 4, 5, 6}, at::kDouble).contiguous(format);
    const auto gradients =
        torch::autograd::grad({join_channels(first, second)}, {first, second}, {of_joined});
    EXPECT_TRUE(at::equal(gradients[0], of_joined.narrow(1, 0, 3)));
    EXPECT_TRUE(at::equal(gradients[1], of_joined.narrow(1, 3, 5)));
    for (const at::Tensor& gradient : gradients)
      EXPECT_TRUE(gradient.is_contiguous(format)) << gradient.strides();
  }
}

TEST(JoinChannels, OnlyPartsThatLearnHaveAGradient) {
  const at::Tensor first = leaf({1, 2, 3, 3, 3}, last), fixed = at::ones({1, 4, 3, 3, 3}, at::kDouble);
  for (const auto& [front, back] : {std::array{first, fixed}, std::array{fixed, first}}) {
    const auto gradients = torch::autograd::grad({join_channels(front, back).sum()}, {first});
    EXPECT_TRUE(at::equal(gradients[0], at::ones_like(first)));
  }
}

TEST(JoinChannels, HasDerivativesOfEveryOrder) {
  const at::Tensor first = leaf({1, 2, 2, 2, 2}, last), second = leaf({1, 1, 2, 2, 2}, last);
  const at::Tensor cube = join_channels(first, second).pow(3).sum();
  const at::Tensor slope = torch::autograd::grad({cube}, {second}, {}, true, true).front();
  EXPECT_TRUE(at::allclose(torch::autograd::grad({slope.sum()}, {second}).front(), 6 * second.detach()));
}

}  // namespace
}  // namespace larmor
