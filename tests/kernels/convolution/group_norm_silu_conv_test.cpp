#include "larmor/kernels/convolution/group_norm_silu_conv.h"

#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "larmor/device/autocast.h"
#include "larmor/device/layout.h"
#include "larmor/device/meta/meta_kernels.h"
#include "larmor/device/meta/saved_bytes.h"
#include "larmor/kernels/convolution/conv3d.h"
#include "larmor/kernels/draw/draw.h"
#include "larmor/kernels/norms/group_norm_silu.h"

namespace larmor::testing {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;

constexpr int64_t norm_groups = 4;
constexpr double norm_epsilon = 1e-6;

struct NormedConvCase {
  std::vector<int64_t> image;  // [N, C, D, H, W]
  int64_t out;
  Precision precision = Precision::fp32;
  Layout layout = Layout::contiguous;
  int64_t stride = 1;
  bool has_bias = true;
};

/// Input, weight and bias of the norm, weight of the convolution, and its bias where there is one.
Tensors leaves_of(const NormedConvCase& of) {
  const auto learnt = [&](const char* name, at::IntArrayRef shape) {
    const Tensor drawn = draw_normal(3, name, shape);
    return (of.precision == Precision::fp64 ? drawn.to(at::kDouble) : drawn).requires_grad_();
  };
  const int64_t in = of.image[1];
  Tensors leaves{learnt("input", of.image), learnt("norm weight", {in}), learnt("norm bias", {in}),
                 learnt("weight", {of.out, in, 3, 3, 3})};
  if (of.has_bias) leaves.push_back(learnt("bias", {of.out}));
  return leaves;
}

using NormedConv = Tensor(const Tensors& leaves, int64_t stride);

Tensor bias_of(const Tensors& leaves) { return leaves.size() > 4 ? leaves[4] : Tensor(); }

Tensor in_one(const Tensors& leaves, int64_t stride) {
  const GroupNormWeights norm{
      .groups = norm_groups, .weight = leaves[1], .bias = leaves[2], .epsilon = norm_epsilon};
  return group_norm_silu_conv(leaves[0], norm, leaves[3], bias_of(leaves), {stride, stride, stride},
                              {1, 1, 1});
}

Tensor in_two(const Tensors& leaves, int64_t stride) {
  return conv3d(group_norm_silu(leaves[0], norm_groups, leaves[1], leaves[2], norm_epsilon), leaves[3],
                bias_of(leaves), {stride, stride, stride}, {1, 1, 1});
}

/// The result, and the gradient of each leaf.
Tensors learnt_by(NormedConv* compute, const NormedConvCase& of) {
  const Tensors leaves = leaves_of(of);
  Tensor output;
  {
    const AutocastScope autocast(at::kCPU, of.precision);
    const LayoutScope layout(of.layout);
    output = compute(leaves, of.stride);
  }
  Tensors all{output.detach()};
  output.backward(draw_normal(3, "gradient", output.sizes()).to(output.scalar_type()));
  for (const Tensor& leaf : leaves) all.push_back(leaf.grad());
  return all;
}

void expect_the_same_bits(const NormedConvCase& of) {
  const Tensors one = learnt_by(in_one, of), two = learnt_by(in_two, of);
  ASSERT_EQ(one.size(), two.size());
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_TRUE(at::equal(one[i], two[i])) << i << " of " << to_text(of.precision) << ", image "
                                           << at::IntArrayRef(of.image) << ", stride " << of.stride;
    EXPECT_EQ(one[i].scalar_type(), two[i].scalar_type());
    EXPECT_EQ(one[i].strides(), two[i].strides());
  }
}

TEST(GroupNormSiluConv, HasTheBitsOfTheTwo) {
  for (const Layout layout : {Layout::contiguous, Layout::channels_last}) {
    for (const Precision precision : {Precision::fp64, Precision::fp32, Precision::bf16}) {
      for (const int64_t stride : {1, 2}) {
        expect_the_same_bits({.image = {2, 16, 6, 7, 5},
                              .out = 24,
                              .precision = precision,
                              .layout = layout,
                              .stride = stride});
      }
      expect_the_same_bits(
          {.image = {1, 8, 5, 4, 9}, .out = 4, .precision = precision, .layout = layout, .has_bias = false});
    }
  }
}

TEST(GroupNormSiluConv, HasThemWhereImagesArePaddedOrRowsAreShort) {
  for (const Layout layout : {Layout::contiguous, Layout::channels_last}) {
    for (const Precision precision : {Precision::fp32, Precision::bf16}) {
      expect_the_same_bits({.image = {2, 16, 2, 2, 3}, .out = 16, .precision = precision, .layout = layout});
      expect_the_same_bits(
          {.image = {2, 128, 4, 4, 4}, .out = 128, .precision = precision, .layout = layout});
    }
  }
}

/// What autograd keeps for backward, beside the leaves.
int64_t kept_by(NormedConv* compute) {
  register_meta_kernels();
  const auto on_meta = [](at::IntArrayRef sizes) {
    return at::empty(sizes, at::TensorOptions(at::kMeta)).requires_grad_();
  };
  const Tensors leaves{on_meta({2, 32, 8, 8, 8}), on_meta({32}), on_meta({32}), on_meta({32, 32, 3, 3, 3}),
                       on_meta({32})};
  const SavedBytes saved(leaves);
  const Tensor output = compute(leaves, 1);
  return saved.bytes();
}

TEST(GroupNormSiluConv, KeepsNothingBesideItsInput) {
  constexpr int64_t image = 4 * 2 * 32 * 8 * 8 * 8;
  EXPECT_EQ(kept_by(in_one), 0);
  EXPECT_GE(kept_by(in_two), image);
}

/// The gradient of a norm of the gradients: what a gradient penalty asks for.
Tensors second_derivatives(NormedConv* compute) {
  const Tensors leaves = leaves_of({.image = {2, 8, 4, 4, 5}, .out = 3, .precision = Precision::fp64});
  const auto first = torch::autograd::grad({compute(leaves, 1).pow(3).sum()}, leaves, {},
                                           /*retain_graph=*/true, /*create_graph=*/true);
  Tensor sum = at::zeros({}, at::kDouble);
  for (const Tensor& gradient : first) sum = sum + gradient.square().sum();
  return torch::autograd::grad({sum}, leaves);
}

TEST(GroupNormSiluConv, HasSecondDerivatives) {
  const Tensors one = second_derivatives(in_one), two = second_derivatives(in_two);
  for (size_t i = 0; i < two.size(); ++i)
    EXPECT_LT((one[i] - two[i]).norm().item<double>(), 1e-10 * two[i].norm().item<double>()) << i;
}

TEST(GroupNormSiluConv, LearnsInAPartOfItsLeavesAlone) {
  const NormedConvCase of{.image = {2, 8, 5, 5, 5}, .out = 8};
  const Tensors both = leaves_of(of), some = leaves_of(of);
  for (const size_t frozen : {0, 3}) some[frozen].requires_grad_(false);
  in_two(both, 1).sum().backward();
  in_one(some, 1).sum().backward();
  for (const size_t learnt : {1, 2, 4}) EXPECT_TRUE(at::equal(some[learnt].grad(), both[learnt].grad()));
  for (const size_t frozen : {0, 3}) EXPECT_FALSE(some[frozen].grad().defined());
}

}  // namespace
}  // namespace larmor::testing
