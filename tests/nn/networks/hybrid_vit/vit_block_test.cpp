#include "larmor/nn/networks/hybrid_vit/vit_block.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace larmor::nn {
namespace {

VitBlock block_of(bool begins_as_identity) {
  return {{.channels = 8, .heads = 2, .condition_channels = 3, .context_channels = 5},
          "blocks.0",
          begins_as_identity,
          c10::kCPU};
}

TEST(VitBlock, BeginsAsTheIdentityWhereThatIsAskedFor) {
  const at::Tensor tokens = at::randn({2, 6, 8}), context = at::randn({2, 4, 5}),
                   condition = at::randn({2, 3});
  EXPECT_TRUE(at::equal(block_of(true).forward(tokens, context, condition), tokens));
}

TEST(VitBlock, BeginsWithCrossAttentionAloneAsTheReferenceDoes) {
  const at::Tensor tokens = at::randn({1, 6, 8}), context = at::randn({1, 4, 5});
  VitBlock block = block_of(false);
  const at::Tensor out = block.forward(tokens, context, at::randn({1, 3}));
  EXPECT_FALSE(at::allclose(out, tokens));
  EXPECT_TRUE(at::equal(out, block.forward(tokens, context, at::randn({1, 3}))))
      << "the condition has no weight yet";
}

TEST(VitBlock, LearnsFromTheConditionFirst) {
  VitBlock block = block_of(true);
  block.forward(at::randn({2, 6, 8}), at::randn({2, 4, 5}), at::randn({2, 3})).square().sum().backward();
  const auto parameters = block.named_parameters();
  EXPECT_GT(parameters["adaln.linear.weight"].grad().abs().max().item<double>(), 0);
  EXPECT_GT(parameters["cross_attn.proj.weight"].grad().abs().max().item<double>(), 0);
}

}  // namespace
}  // namespace larmor::nn
