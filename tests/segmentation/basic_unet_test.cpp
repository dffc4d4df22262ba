#include "organs/basic_unet.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace larmor::segmentation {
namespace {

constexpr int64_t in = 2, out = 3;
const std::vector<int64_t> features{4, 4, 6, 8, 8, 4};

/// In float64, with weights by a rule that goes by their order, which is MONAI's.
std::shared_ptr<BasicUnet> made_by_rule() {
  const at::NoGradGuard no_grad;
  auto network = std::make_shared<BasicUnet>(in, out, features, c10::kCPU);
  network->to(at::kDouble);
  int64_t place = 0;
  for (auto& item : network->named_parameters()) {
    at::Tensor& weight = item.value();
    const at::Tensor waves = (at::arange(weight.numel(), at::kDouble) * 0.7 + place++).sin() * 0.3;
    weight.copy_((item.key().ends_with("N.weight") ? waves + 1 : waves).view_as(weight));
  }
  return network;
}

at::Tensor waves() {
  return (at::arange(2 * in * 32 * 16 * 32, at::kDouble) * 0.013).sin().view({2, in, 32, 16, 32});
}

TEST(BasicUnet, HasMonaisNamesInMonaisOrder) {
  const BasicUnet network(in, out, features, c10::kMeta);
  std::vector<std::string> names;
  for (const auto& item : network.named_parameters()) names.push_back(item.key());
  ASSERT_EQ(names.size(), 82U);
  EXPECT_EQ(names[0], "conv_0.conv_0.conv.weight");
  EXPECT_EQ(names[2], "conv_0.conv_0.adn.N.weight");
  EXPECT_EQ(names[8], "down_1.convs.conv_0.conv.weight");
  EXPECT_EQ(names[40], "upcat_4.upsample.deconv.weight");
  EXPECT_EQ(names[41], "upcat_4.upsample.deconv.bias");
  EXPECT_EQ(names[42], "upcat_4.convs.conv_0.conv.weight");
  EXPECT_EQ(names[80], "final_conv.weight");
}

/// What monai.networks.nets.BasicUNet (1.6) gives with the same weights in float64, and its gradients.
TEST(BasicUnet, IsMonais) {
  const auto network = made_by_rule();
  const at::Tensor result = network->forward(waves());
  ASSERT_EQ(result.sizes(), at::IntArrayRef({2, out, 32, 16, 32}));
  EXPECT_NEAR(result.mean().item<double>(), -0.033844274029845564, 1e-9);
  EXPECT_NEAR(result.abs().mean().item<double>(), 0.27349378640751704, 1e-9);
  EXPECT_NEAR(result.flatten()[0].item<double>(), -0.16479862264394227, 1e-8);
  EXPECT_NEAR(result.flatten()[-1].item<double>(), 0.22496204444236254, 1e-8);
  result.square().mean().backward();
  const auto gradients = network->named_parameters();
  EXPECT_NEAR(gradients["conv_0.conv_0.conv.weight"].grad().norm().item<double>(), 0.009780867275085283,
              1e-9);
}

TEST(BasicUnet, TakesAsManyResolutionsAsItHasFeatures) {
  BasicUnet network(1, 2, {4, 8, 4}, c10::kCPU);
  EXPECT_EQ(BasicUnet::size_divisor({4, 8, 4}), 2);
  EXPECT_EQ(network.forward(at::rand({1, 1, 6, 4, 2})).sizes(), at::IntArrayRef({1, 2, 6, 4, 2}));
}

}  // namespace
}  // namespace larmor::segmentation
