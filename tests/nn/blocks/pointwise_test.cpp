#include "larmor/nn/blocks/pointwise.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "larmor/nn/blocks/layer_weights.h"

namespace larmor::nn {
namespace {

TEST(Pointwise, IsAConvolutionOfKernelOne) {
  const LayerWeights weights({5, 3, 1, 1}, /*has_bias=*/true, at::kCPU);
  const auto image = at::rand({2, 3, 7, 4});
  const auto expected = at::conv2d(image, weights.weight(), weights.bias());
  EXPECT_EQ(pointwise(image, weights).sizes(), expected.sizes());
  EXPECT_TRUE(at::allclose(pointwise(image, weights), expected, 1e-5, 1e-6));
}

TEST(Pointwise, GivesTheSameBitsOnAnyNumberOfThreads) {
  const LayerWeights weights({64, 48, 1, 1}, /*has_bias=*/true, at::kCPU);
  const auto image = at::rand({1, 48, 31, 31});
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const auto on_one = pointwise(image, weights);
  at::set_num_threads(2);
  const auto on_two = pointwise(image, weights);
  at::set_num_threads(before);
  EXPECT_TRUE(at::equal(on_one, on_two));
}

}  // namespace
}  // namespace larmor::nn
