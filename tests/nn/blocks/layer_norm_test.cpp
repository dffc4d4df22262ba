#include "larmor/nn/blocks/layer_norm.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace larmor::nn {
namespace {

TEST(LayerNorm, GivesEachTokenAMeanOfZeroAndAVarianceOfOne) {
  LayerNorm norm(6);
  const at::Tensor tokens = at::randn({2, 3, 6}) * 4 + 7;
  const at::Tensor centred = tokens - tokens.mean(-1, true);
  const at::Tensor expected = centred / (centred.square().mean(-1, true) + 1e-5).sqrt();
  EXPECT_TRUE(at::allclose(norm.forward(tokens), expected, 1e-5, 1e-6));
}

TEST(LayerNorm, TakesWeightsThatAreNarrowerThanTheTokens) {
  LayerNorm norm(6);
  const at::Tensor tokens = at::randn({2, 3, 6});
  const at::Tensor expected = norm.forward(tokens);
  norm.to(at::kBFloat16);
  const at::Tensor narrow = norm.forward(tokens);
  EXPECT_EQ(narrow.scalar_type(), at::kFloat);
  EXPECT_TRUE(at::equal(narrow, expected));
}

}  // namespace
}  // namespace larmor::nn
