#include "larmor/nn/blocks/layer_weights.h"

#include <gtest/gtest.h>
#include <torch/nn.h>

#include "larmor/device/initialisation.h"

namespace larmor::nn {
namespace {

TEST(LayerWeights, AreThoseOfLibtorchsModulesBitForBit) {
  for (const bool has_bias : {true, false}) {
    at::Tensor next, expected_next;
    std::shared_ptr<LayerWeights> own_conv, own_linear;
    torch::nn::Conv3d conv{nullptr};
    torch::nn::Linear linear{nullptr};
    {
      const SeededInitialisation seeded(4);
      own_conv = std::make_shared<LayerWeights>(at::IntArrayRef({5, 3, 2, 3, 4}), has_bias, c10::kCPU);
      own_linear = std::make_shared<LayerWeights>(at::IntArrayRef({6, 7}), has_bias, c10::kCPU);
      next = torch::rand({4});
    }
    {
      const SeededInitialisation seeded(4);
      conv = torch::nn::Conv3d(torch::nn::Conv3dOptions(3, 5, {2, 3, 4}).bias(has_bias));
      linear = torch::nn::Linear(torch::nn::LinearOptions(7, 6).bias(has_bias));
      expected_next = torch::rand({4});
    }
    EXPECT_TRUE(torch::equal(own_conv->weight(), conv->weight));
    EXPECT_TRUE(torch::equal(own_linear->weight(), linear->weight));
    EXPECT_TRUE(torch::equal(next, expected_next)) << "what is drawn behind them does not move";
    EXPECT_EQ(own_conv->named_parameters().keys(), conv->named_parameters().keys());
    ASSERT_EQ(own_conv->bias().defined(), has_bias);
    if (!has_bias) continue;
    EXPECT_TRUE(torch::equal(own_conv->bias(), conv->bias));
    EXPECT_TRUE(torch::equal(own_linear->bias(), linear->bias));
  }
}

TEST(LayerWeights, DrawNothingOnTheMetaDevice) {
  const uint64_t before = default_generator_fingerprint();
  const LayerWeights weights(at::IntArrayRef({5, 3, 3, 3, 3}), /*has_bias=*/true, c10::kMeta);
  EXPECT_EQ(default_generator_fingerprint(), before);
  EXPECT_TRUE(weights.weight().is_meta());
  EXPECT_EQ(weights.weight().numel(), 405);
}

}  // namespace
}  // namespace larmor::nn
