#include "larmor/device/device.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>
#include <torch/nn.h>

#include "larmor/base/error.h"
#include "larmor/device/autocast.h"
#include "larmor/device/initialisation.h"
#include "larmor/device/module_state.h"

namespace larmor::testing {
namespace {

TEST(AutocastScope, MakesConvolutionsNarrowInsideAndLeavesNoTrace) {
  torch::nn::Linear layer(4, 4);
  const auto input = at::ones({1, 4});
  {
    const AutocastScope scope(c10::kCPU, Precision::bf16);
    EXPECT_EQ(layer(input).scalar_type(), at::kBFloat16);
    {
      const AutocastScope same(c10::kCPU, Precision::fp32);
      EXPECT_EQ(layer(input).scalar_type(), at::kBFloat16);
    }
  }
  EXPECT_EQ(layer(input).scalar_type(), at::kFloat);
  EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
}

TEST(AutocastScope, DropsTheCastWeightsSoThatAStepShows) {
  torch::nn::Linear layer(2, 2);
  const auto input = at::ones({1, 2});
  const auto run = [&] {
    const AutocastScope scope(c10::kCPU, Precision::bf16);
    return layer(input).detach().to(at::kFloat);
  };
  const auto before = run();
  {
    const torch::NoGradGuard no_grad;
    layer->weight.add_(1);
  }
  EXPECT_FALSE(run().equal(before));
}

TEST(SeededInitialisation, GivesTheSameWeightsAndPutsTheGeneratorBack) {
  const auto fingerprint = default_generator_fingerprint();
  const auto weights = [](uint64_t seed) {
    const SeededInitialisation scope(seed);
    return torch::nn::Linear(8, 8)->weight.detach().clone();
  };
  EXPECT_TRUE(weights(5).equal(weights(5)));
  EXPECT_FALSE(weights(5).equal(weights(6)));
  EXPECT_EQ(default_generator_fingerprint(), fingerprint);
  at::rand({1});
  EXPECT_NE(default_generator_fingerprint(), fingerprint);
}

TEST(ModuleState, CarriesParametersAndBuffersByName) {
  torch::nn::Sequential one(torch::nn::Linear(2, 3), torch::nn::BatchNorm1d(3));
  torch::nn::Sequential other(torch::nn::Linear(2, 3), torch::nn::BatchNorm1d(3));
  load_state_dict(*other, state_dict(*one));
  EXPECT_TRUE(other->parameters()[0].equal(one->parameters()[0]));
  EXPECT_TRUE(state_dict(*one).contains("1.running_mean"));
  EXPECT_EQ(parameter_count(*one), 2 * 3 + 3 + 3 + 3);
}

TEST(ModuleState, ListsEverythingThatDoesNotFit) {
  torch::nn::Linear layer(2, 3);
  try {
    load_state_dict(*layer, {{"weight", at::ones({3, 4})}, {"extra", at::ones({1})}});
    FAIL() << "weights that do not fit were taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::checkpoint);
    for (const auto* part :
         {"bias is missing", "weight is [3, 4] and should be [3, 2]", "extra is not known"}) {
      EXPECT_NE(error.message().find(part), std::string::npos) << part << " in " << error.message();
    }
  }
}

TEST(Device, NamesItsWidthsItsMemoryAndItsLibraries) {
  EXPECT_EQ(scalar_type(Precision::bf16), at::kBFloat16);
  EXPECT_GT(peak_memory_bytes(at::kCPU), 0);
  EXPECT_NE(build_description().find("libtorch 2.11.0"), std::string::npos);
}

}  // namespace
}  // namespace larmor::testing
