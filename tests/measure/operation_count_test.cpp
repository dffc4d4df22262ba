// Counts of small works against counts on paper.
#include "larmor/measure/operation_count.h"

#include <cstdint>
#include <functional>
#include <utility>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/device/layout.h"
#include "larmor/kernels/attention/attention.h"
#include "larmor/kernels/convolution/conv3d.h"
#include "larmor/kernels/linear_layer.h"

namespace larmor {
namespace {

double gradients_of(const at::Tensor& output) {
  return count_operations([&] { output.sum().backward(); }).operations();
}

TEST(OperationCount, OfAConvolutionIsAMultiplicationAndAnAdditionForEachWeightAndVoxel) {
  // Of channels in sixteens, Winograd computes it with channels last.
  for (const auto& [in, out] : {std::pair<int64_t, int64_t>{3, 5}, {16, 32}}) {
    const auto volume = at::ones({2, in, 8, 8, 8}).requires_grad_();
    const auto kernel = at::ones({out, in, 3, 3, 3}).requires_grad_();
    const double forward = 2.0 * 2 * 8 * 8 * 8 * static_cast<double>(kernel.numel());
    for (const Layout layout : {Layout::contiguous, Layout::channels_last}) {
      const LayoutScope scope(layout);
      at::Tensor output;
      const auto count = count_operations(
          [&] { output = larmor::conv3d(volume, kernel, at::Tensor(), {1, 1, 1}, {1, 1, 1}); });
      EXPECT_EQ(count.convolution, forward);
      EXPECT_EQ(count.operations(), forward);
      EXPECT_EQ(gradients_of(output), 2 * forward);
    }
  }
}

TEST(OperationCount, OfAConvolutionWhoseInputLearnsNothingHasOneGradient) {
  const auto kernel = at::ones({5, 3, 3, 3, 3}).requires_grad_();
  const auto output = at::conv3d(at::ones({1, 3, 8, 8, 8}), kernel, {}, 2, 1);
  EXPECT_EQ(gradients_of(output), 2.0 * 4 * 4 * 4 * kernel.numel());
}

TEST(OperationCount, OfATransposedConvolutionTakesTheVoxelsOfItsInput) {
  const auto volume = at::ones({1, 4, 5, 5, 5}).requires_grad_();
  const auto kernel = at::ones({4, 6, 2, 2, 2}).requires_grad_();
  const double forward = 2.0 * 5 * 5 * 5 * kernel.numel();
  at::Tensor output;
  const auto count = count_operations([&] { output = at::conv_transpose3d(volume, kernel, {}, 2); });
  EXPECT_EQ(count.convolution, forward);
  EXPECT_EQ(gradients_of(output), 2 * forward);
}

TEST(OperationCount, OfProductsOfMatricesKnowsTheirForms) {
  const auto left = at::ones({7, 4}), right = at::ones({4, 9});
  EXPECT_EQ(count_operations([&] { at::mm(left, right); }).product, 2.0 * 7 * 4 * 9);
  EXPECT_EQ(count_operations([&] { at::addmm(at::ones({9}), left, right); }).product, 2.0 * 7 * 4 * 9);
  const auto lefts = at::ones({3, 7, 4}), rights = at::ones({3, 4, 9});
  EXPECT_EQ(count_operations([&] { at::matmul(lefts, rights); }).product, 2.0 * 3 * 7 * 4 * 9);
  EXPECT_EQ(count_operations([&] { at::linear(lefts, at::ones({9, 4}), at::ones({9})); }).product,
            2.0 * 3 * 7 * 4 * 9);
  const auto rows = at::ones({512, 64}).requires_grad_(), weight = at::ones({64, 64}).requires_grad_();
  at::Tensor output;
  const auto layer = count_operations([&] { output = linear_layer(rows, weight, {}); });
  EXPECT_EQ(layer.product, 2.0 * 512 * 64 * 64);
  EXPECT_EQ(count_operations([&] { output.sum().backward(); }).product, 2 * layer.product);
}

TEST(OperationCount, OfFusedAttentionIsTwoProductsForwardAndFiveBackward) {
  const auto query = at::rand({2, 3, 32, 8}).requires_grad_();
  const auto key = at::rand({2, 3, 24, 8}).requires_grad_(), value = at::rand({2, 3, 24, 8}).requires_grad_();
  const double product = 2.0 * 2 * 3 * 32 * 24 * 8;
  const auto expect = [&](const std::function<at::Tensor()>& attend) {
    at::Tensor output;
    const auto count = count_operations([&] { output = attend(); });
    EXPECT_EQ(count.attention, 2 * product);
    EXPECT_EQ(count.product, 0);
    EXPECT_EQ(count_operations([&] { output.sum().backward(); }).attention, 5 * product);
  };
  expect([&] { return at::scaled_dot_product_attention(query, key, value); });
  expect([&] { return attention(query, key, value); });
}

TEST(OperationCount, OfBytesTakesInputsAndOutputsOnceAndViewsNotAtAll) {
  const auto numbers = at::ones({1000});
  EXPECT_EQ(count_operations([&] { at::sigmoid(numbers); }).bytes, 8000);
  EXPECT_EQ(count_operations([&] { numbers.view({10, 100}).transpose(0, 1); }).bytes, 0);
  EXPECT_EQ(count_operations([&] { at::empty({1000}); }).bytes, 0);
  auto changed = at::ones({1000});
  EXPECT_EQ(count_operations([&] { changed.add_(numbers); }).bytes, 12000);
  EXPECT_EQ(count_operations([&] { at::cat({numbers, numbers}); }).bytes, 16000);
}

TEST(OperationCount, EndsWithTheWorkAndAfterAnErrorToo) {
  const auto matrix = at::ones({4, 4});
  const auto fails = [&] { at::mm(matrix, at::ones({5, 5})); };
  EXPECT_ANY_THROW(count_operations(fails));
  EXPECT_EQ(count_operations([&] { at::mm(matrix, matrix); }).product, 2.0 * 4 * 4 * 4);
  at::mm(matrix, matrix);
  EXPECT_EQ(count_operations([] {}).operations(), 0);
}

}  // namespace
}  // namespace larmor
