#include "larmor/nn/networks/resnet.h"

#include <cmath>
#include <set>
#include <string>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/device/module_state.h"

#include "tests/nn/support/golden_resnet.h"

namespace larmor::nn {
namespace {

using testing::largest_difference;

ResNetOptions of_depth(int64_t depth) {
  ResNetOptions options;
  options.depth = depth;
  return options;
}

std::set<std::string> names_of(const ResNetOptions& options) {
  std::set<std::string> names;
  for (const auto& [name, tensor] : state_dict(*ResNet(options, at::kMeta))) names.insert(name);
  return names;
}

TEST(ResNetGolden, EqualsTheReferenceAtEighteenLayers) { testing::expect_golden_resnet(18); }

TEST(ResNetGolden, GivesTheCheckValues) {
  testing::expect_resnet_check_values(
      of_depth(10), {-1.711456755436e-01, 1.711456755436e-01, -1.774106901004e-01, -1.648806609867e-01});
  testing::expect_resnet_check_values(
      of_depth(18), {-2.346649391417e-01, 2.346649391417e-01, -2.642617339376e-01, -2.050681443458e-01});
}

TEST(ResNetGolden, GivesTheCheckValuesOfOtherShortcutsAndStems) {
  ResNetOptions padded = of_depth(10);
  padded.shortcut_type = ResNetShortcut::zero_padding;
  testing::expect_resnet_check_values(
      padded, {3.604448625143e-02, 3.604448625143e-02, 5.409694380492e-02, 1.799202869795e-02});
  ResNetOptions strided;
  strided.conv1_t_stride = {2};
  strided.bias_downsample = false;
  testing::expect_resnet_check_values(
      strided, {3.090127558503e-01, 3.090127558503e-01, 3.362324147630e-01, 2.817930969376e-01});
}

TEST(ResNet, HasAsManyParametersAsTheReference) {
  const std::vector<std::pair<int64_t, int64_t>> counts = {
      {10, 14'356'929},  {18, 33'161'409},   {34, 63'471'041},  {50, 46'160'961},
      {101, 85'207'105}, {152, 117'365'825}, {200, 126'565'441}};
  for (const auto& [depth, count] : counts)
    EXPECT_EQ(parameter_count(*ResNet(of_depth(depth), at::kMeta)), count);
}

TEST(ResNet, NamesItsWeightsAsTheReference) {
  const auto basic = names_of(of_depth(18));
  EXPECT_EQ(basic.size(), 125U);
  for (const char* name : {"conv1.weight", "bn1.weight", "bn1.bias", "bn1.running_mean", "bn1.running_var",
                           "bn1.num_batches_tracked", "layer1.1.conv2.weight", "layer2.0.downsample.0.weight",
                           "layer2.0.downsample.0.bias", "layer2.0.downsample.1.running_var",
                           "layer4.1.bn2.bias", "fc.weight", "fc.bias"})
    EXPECT_TRUE(basic.contains(name)) << name;
  EXPECT_FALSE(basic.contains("layer1.0.downsample.0.weight"));
  const auto deep = names_of(of_depth(101));
  EXPECT_TRUE(deep.contains("layer1.0.downsample.0.weight"));
  EXPECT_TRUE(deep.contains("layer3.22.conv3.weight"));
  EXPECT_TRUE(deep.contains("layer3.22.bn3.running_mean"));
}

TEST(ResNet, KeepsTheShortcutsRules) {
  ResNetOptions options;
  options.bias_downsample = false;
  EXPECT_FALSE(names_of(options).contains("layer2.0.downsample.0.bias"));
  EXPECT_TRUE(names_of(options).contains("layer2.0.downsample.0.weight"));
  options.shortcut_type = ResNetShortcut::zero_padding;
  for (const auto& name : names_of(options)) EXPECT_EQ(name.find("downsample"), std::string::npos) << name;
}

TEST(ResNet, PadsWithZeroChannelsBesideABlockOfShortcutA) {
  ResNetOptions options = of_depth(10);
  options.shortcut_type = ResNetShortcut::zero_padding;
  ResNet network(options);
  network->eval();
  // Without its convolutions every block hands on what stands beside it.
  const at::NoGradGuard no_gradient;
  for (const auto& item : network->named_parameters()) {
    if (item.key().starts_with("layer") && item.value().dim() > 1) item.value().zero_();
  }
  network->named_parameters()["conv1.weight"].fill_(0.01);
  network->named_parameters()["fc.weight"].fill_(1);
  const at::Tensor image = at::rand({1, 1, 16, 16, 16});
  at::Tensor stem = at::relu(at::conv3d(image, network->named_parameters()["conv1.weight"], {}, 1, 3) /
                             std::sqrt(1 + 1e-5));
  stem = at::max_pool3d(stem, 3, 2, 1);
  const auto every_eighth = stem.slice(2, 0, {}, 8).slice(3, 0, {}, 8).slice(4, 0, {}, 8);
  EXPECT_NEAR(network->forward(image).item<double>(), every_eighth.mean({2, 3, 4}).sum().item<double>(),
              1e-4);
}

TEST(ResNet, LetsTheGradientPassShortcutA) {
  ResNetOptions options = of_depth(10);
  options.shortcut_type = ResNetShortcut::zero_padding;
  ResNet network(options);
  network->eval();
  {
    const at::NoGradGuard no_gradient;
    for (const auto& item : network->named_parameters()) {
      if (item.key().starts_with("layer") && item.value().dim() > 1) item.value().zero_();
    }
  }
  network->forward(at::rand({1, 1, 16, 16, 16})).sum().backward();
  EXPECT_GT(network->named_parameters()["conv1.weight"].grad().abs().max().item<double>(), 0);
}

TEST(ResNet, TakesTheStemOfOtherSizes) {
  ResNetOptions options = of_depth(10);
  options.n_input_channels = 2;
  options.num_classes = 5;
  options.conv1_t_size = {3, 5, 7};
  options.conv1_t_stride = {2};
  options.no_max_pool = true;
  ResNet network(options);
  EXPECT_EQ(state_dict(*network).at("conv1.weight").sizes().vec(), (std::vector<int64_t>{64, 2, 3, 5, 7}));
  EXPECT_EQ(network->forward(at::rand({2, 2, 16, 16, 16})).sizes().vec(), (std::vector<int64_t>{2, 5}));
}

TEST(ResNet, DoesNotMixExamplesUnderGroupAndInstanceNorm) {
  for (const ResNetNorm norm : {ResNetNorm::group, ResNetNorm::instance}) {
    ResNetOptions options = of_depth(10);
    options.norm = norm;
    for (const auto& name : names_of(options)) EXPECT_EQ(name.find("running"), std::string::npos) << name;
    torch::manual_seed(3);
    ResNet network(options);
    const at::NoGradGuard no_gradient;
    const at::Tensor images = at::rand({3, 1, 32, 32, 32});
    const at::Tensor together = network->forward(images);
    for (int64_t i = 0; i < 3; ++i)
      EXPECT_LE(largest_difference(network->forward(images.narrow(0, i, 1))[0], together[i]), 1e-3);
  }
}

TEST(ResNet, StartsFromKaimingsWeights) {
  torch::manual_seed(5);
  ResNet network(of_depth(10));
  for (const auto& [name, tensor] : state_dict(*network)) {
    if (name.ends_with("num_batches_tracked")) continue;
    const bool ones = tensor.dim() == 1 && !name.ends_with("bias") && !name.ends_with("running_mean");
    if (tensor.dim() == 1) {
      EXPECT_TRUE(at::equal(tensor, at::full_like(tensor, ones ? 1 : 0))) << name;
      continue;
    }
    const double fan_out = static_cast<double>(tensor.numel()) / static_cast<double>(tensor.size(1));
    const double deviation = std::sqrt(2 / fan_out), count = static_cast<double>(tensor.numel());
    EXPECT_NEAR(tensor.std().item<double>() / deviation, 1, 4 / std::sqrt(2 * count)) << name;
    EXPECT_NEAR(tensor.mean().item<double>() / deviation, 0, 4 / std::sqrt(count)) << name;
  }
}

TEST(ResNet, RefusesWhatItCannotNormalise) {
  ResNet network(of_depth(10));
  const at::Tensor image = at::rand({1, 1, 16, 16, 16});
  EXPECT_THROW(network->forward(image), Error);
  network->eval();
  EXPECT_EQ(network->forward(image).numel(), 1);
  ResNetOptions options = of_depth(10);
  options.norm = ResNetNorm::instance;
  EXPECT_THROW(ResNet(options)->forward(image), Error);
  EXPECT_THROW(network->forward(at::rand({1, 2, 16, 16, 16})), Error);
  EXPECT_THROW(network->forward(at::rand({16, 16, 16})), Error);
}

TEST(ResNetOptions, RefuseWhatNoResNetHas) {
  const auto refuses = [](auto change) {
    ResNetOptions options;
    change(options);
    EXPECT_THROW(options.check(), Error);
  };
  ResNetOptions().check();
  refuses([](ResNetOptions& o) { o.depth = 19; });
  refuses([](ResNetOptions& o) { o.conv1_t_size = {7, 7}; });
  refuses([](ResNetOptions& o) { o.conv1_t_stride = {0}; });
  refuses([](ResNetOptions& o) { o.n_input_channels = 0; });
  refuses([](ResNetOptions& o) {
    o.norm = ResNetNorm::group;
    o.norm_num_groups = 7;
  });
  refuses([](ResNetOptions& o) { o.widen_factor = 0.01; });
}

TEST(ResNetOptions, WidenAllChannelsAlike) {
  ResNetOptions options;
  options.widen_factor = 0.25;
  EXPECT_EQ(options.channels(0), 16);
  EXPECT_EQ(options.channels(3), 128);
}

}  // namespace
}  // namespace larmor::nn
