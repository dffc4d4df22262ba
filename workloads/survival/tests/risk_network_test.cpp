#include "workloads/survival/risk/risk_network.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/device/initialisation.h"
#include "larmor/device/module_state.h"

namespace larmor::survival {
namespace {

nn::ResNetOptions narrow() {
  nn::ResNetOptions options;
  options.depth = 10;
  options.widen_factor = 0.125;
  options.norm = nn::ResNetNorm::group;
  return options;
}

RiskNetwork seeded_network(int64_t covariates) {
  const SeededInitialisation seeded(5);
  return {narrow(), covariates, c10::kCPU};
}

TEST(RiskNetwork, IsTheResNetToTheBitAndItsLastLayersBeginAtZeroBesideCovariates) {
  NamedTensors resnet;
  {
    const SeededInitialisation seeded(5);
    resnet = state_dict(*nn::ResNet(narrow()));
  }
  const at::NoGradGuard no_grad;
  const RiskNetwork without = seeded_network(0), with = seeded_network(2);
  NamedTensors plain = state_dict(without), beside = state_dict(with);
  EXPECT_TRUE(beside.at("covariates.weight").equal(at::zeros({1, 2})));
  beside.erase("covariates.weight");
  EXPECT_EQ(beside.at("fc.weight").count_nonzero().item<int64_t>(), 0);
  beside.at("fc.weight").copy_(resnet.at("fc.weight"));
  for (const auto* state : {&plain, &beside}) {
    ASSERT_EQ(state->size(), resnet.size());
    for (const auto& [name, tensor] : resnet) EXPECT_TRUE(state->at(name).equal(tensor)) << name;
  }
}

TEST(RiskNetwork, AddsAWeightedSumOfTheCovariatesToWhatTheImageSays) {
  const at::NoGradGuard no_grad;
  RiskNetwork network = seeded_network(2);
  const auto features = network.features(at::ones({3, 1, 8, 8, 8}));
  const auto covariates = at::tensor({1.0F, 0.0F, 0.0F, 1.0F, 2.0F, -1.0F}).view({3, 2});
  const auto before = network.log_risk(features, covariates);
  EXPECT_TRUE(before.equal(network.head(features).squeeze(1)));
  state_dict(network).at("covariates.weight").copy_(at::tensor({0.5F, 3.0F}).view({1, 2}));
  EXPECT_TRUE(
      network.log_risk(features, covariates).allclose(before + at::tensor({0.5F, 3.0F, -2.0F}), 0, 1e-6));
}

}  // namespace
}  // namespace larmor::survival
