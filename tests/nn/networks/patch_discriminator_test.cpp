#include "larmor/nn/networks/patch_discriminator.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/device/module_state.h"
#include "larmor/nn/losses/losses.h"

#include "tests/nn/support/golden.h"

namespace larmor::nn {
namespace {

using testing::Golden;
using testing::largest_difference;
using testing::relative_l2;

PatchDiscriminatorOptions small_discriminator() {
  PatchDiscriminatorOptions options;
  options.channels = 16;
  return options;
}

struct DiscriminatorPass {
  std::vector<at::Tensor> stages;
  at::Tensor fake, real;
};

DiscriminatorPass run_discriminator(PatchDiscriminator& network, const Golden& golden, at::ScalarType type) {
  DiscriminatorPass pass;
  pass.stages = network->forward(golden.at("input/x").to(type));
  pass.fake = adversarial_least_squares(pass.stages.back(), false);
  pass.real = adversarial_least_squares(pass.stages.back(), true);
  pass.fake.backward();
  return pass;
}

TEST(PatchDiscriminatorGolden, EqualsTheReference) {
  const Golden golden("patch_discriminator");
  PatchDiscriminator exact(small_discriminator()), single(small_discriminator());
  golden.load_weights(*exact, at::kDouble);
  golden.load_weights(*single, at::kFloat);

  const DiscriminatorPass in_float64 = run_discriminator(exact, golden, at::kDouble);
  ASSERT_EQ(in_float64.stages.size(), 5U);
  EXPECT_LE(relative_l2(in_float64.stages[3], golden.at("out/stage3")), 1e-6);
  EXPECT_LE(relative_l2(in_float64.stages[4], golden.at("out/stage4")), 1e-6);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string stage = "stage" + std::to_string(i);
    EXPECT_LE(relative_l2(in_float64.stages[i].norm(), golden.at("out_l2/" + stage)), 1e-12);
    EXPECT_LE(relative_l2(in_float64.stages[i].mean(), golden.at("out_mean/" + stage)), 1e-12);
  }
  EXPECT_LE(relative_l2(in_float64.fake, golden.at("loss/fake")), 1e-12);
  EXPECT_LE(relative_l2(in_float64.real, golden.at("loss/real_and_generator")), 1e-12);
  testing::expect_golden_gradients(*exact, golden);

  const DiscriminatorPass in_float32 = run_discriminator(single, golden, at::kFloat);
  for (std::size_t i = 3; i < 5; ++i) {
    EXPECT_LE(largest_difference(in_float32.stages[i], in_float64.stages[i]),
              golden.allowed_in_float32("out/stage" + std::to_string(i)));
  }
  testing::expect_golden_float32_error(*single, *exact, golden);
}

TEST(PatchDiscriminatorGolden, StartsFromTheReferencesWeightsUnderTheSameSeed) {
  torch::manual_seed(213);
  PatchDiscriminator network(small_discriminator());
  const Golden golden("patch_discriminator");
  for (const auto& [name, weight] : state_dict(*network)) {
    if (name.ends_with("bias")) {
      EXPECT_EQ(weight.abs().max().item<double>(), 0) << name;
    } else {
      EXPECT_LE(largest_difference(weight, golden.at("weight/" + name)), 1e-7) << name;
    }
  }
}

TEST(PatchDiscriminator, GivesTheCheckValues) {
  PatchDiscriminator network(PatchDiscriminatorOptions{});
  EXPECT_EQ(parameter_count(*network), 2'770'977);
  network->to(at::kDouble);
  testing::rule_fill(*network);
  const at::NoGradGuard no_gradient;
  const auto stages = network->forward(testing::rule_input("input", {1, 1, 48, 48, 48}, 0, 1));
  const std::vector<std::pair<int64_t, int64_t>> expected = {{24, 32}, {12, 64}, {6, 128}, {5, 256}, {4, 1}};
  ASSERT_EQ(stages.size(), expected.size());
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const auto [size, channels] = expected[i];
    EXPECT_EQ(stages[i].sizes().vec(), (std::vector<int64_t>{1, channels, size, size, size}));
  }
  testing::expect_check_values(
      stages.back(), {-1.860350232380e-01, 4.792701952494e-01, -8.372576386795e-01, -6.794934928455e-01});
  EXPECT_NEAR(adversarial_least_squares(stages.back(), true).item<double>(), 0.82126400210263, 1e-12);
  EXPECT_NEAR(adversarial_least_squares(stages.back(), false).item<double>(), 0.0812339131896668, 1e-12);
}

TEST(PatchDiscriminator, TakesNoImageThatLeavesNoLogit) {
  PatchDiscriminator network(small_discriminator());
  const int64_t least = small_discriminator().least_size();
  EXPECT_EQ(network->forward(at::zeros({1, 1, least, least, least})).back().numel(), 1);
  EXPECT_THROW(network->forward(at::zeros({1, 1, least, least - 1, least})), Error);
  EXPECT_THROW(network->forward(at::zeros({1, 2, least, least, least})), Error);
}

TEST(PatchDiscriminatorOptions, RefusesLayersOfNoSense) {
  PatchDiscriminatorOptions options;
  options.num_layers_d = 0;
  EXPECT_THROW(options.check(), Error);
}

}  // namespace
}  // namespace larmor::nn
