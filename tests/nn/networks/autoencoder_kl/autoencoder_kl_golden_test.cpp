// The autoencoder against what MONAI computed with the same weights.
#include <string>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/device/module_state.h"
#include "larmor/nn/losses/losses.h"
#include "larmor/nn/networks/autoencoder_kl/autoencoder_kl.h"

#include "tests/nn/support/golden.h"
#include "tests/nn/support/golden_autoencoder.h"

namespace larmor::nn {
namespace {

using testing::attention_options;
using testing::Golden;
using testing::largest_difference;
using testing::relative_l2;
using testing::small_options;

struct Pass {
  NamedTensors out, loss;
};

/// Forward of the sampled latent, backward of its total loss, reconstruction of the mean.
Pass run(AutoencoderKl& network, const Golden& golden, at::ScalarType type) {
  const at::Tensor image = golden.at("input/x").to(type);
  const auto output = network->forward(image, golden.at("input/eps").to(type));
  const at::Tensor l1 = (output.reconstruction - image).abs().mean();
  const at::Tensor kl = kl_divergence(output.mean, output.sigma, 0);
  const at::Tensor total = l1 + 1e-7 * kl;
  total.backward();
  const at::NoGradGuard no_gradient;
  return {{{"mu", output.mean},
           {"sigma", output.sigma},
           {"recon_sampled", output.reconstruction},
           {"recon_mu", network->reconstruct(image)}},
          {{"l1", l1}, {"kl", kl}, {"total", total}}};
}

void expect_golden(const AutoencoderKlOptions& options, const std::string& name) {
  const Golden golden(name);
  AutoencoderKl exact(options), single(options);
  golden.load_weights(*exact, at::kDouble);
  golden.load_weights(*single, at::kFloat);

  const Pass in_float64 = run(exact, golden, at::kDouble);
  for (const auto& [key, value] : in_float64.out)
    EXPECT_LE(relative_l2(value, golden.at("out/" + key)), 1e-6) << key;
  for (const auto& [key, value] : in_float64.loss)
    EXPECT_LE(relative_l2(value, golden.at("loss/" + key)), 1e-12) << key;
  testing::expect_golden_gradients(*exact, golden);

  const Pass in_float32 = run(single, golden, at::kFloat);
  for (const auto& [key, value] : in_float32.out)
    EXPECT_LE(largest_difference(value, in_float64.out.at(key)), golden.allowed_in_float32("out/" + key))
        << key;
  testing::expect_golden_float32_error(*single, *exact, golden);
}

TEST(AutoencoderKlGolden, EqualsTheReferenceWithoutAttention) { expect_golden(small_options(), "ae_small"); }

TEST(AutoencoderKlGolden, EqualsTheReferenceWithAttentionEverywhere) {
  expect_golden(attention_options(), "ae_attention");
}

TEST(AutoencoderKlGolden, StartsFromTheReferencesWeightsUnderTheSameSeed) {
  torch::manual_seed(211);
  AutoencoderKl network(small_options());
  const NamedTensors reference = Golden("ae_small").under("weight/");
  const NamedTensors weights = state_dict(*network);
  ASSERT_EQ(weights.size(), reference.size());
  for (const auto& [name, weight] : weights)
    EXPECT_LE(largest_difference(weight, reference.at(name)), 1e-7) << name;
}

// How far beside is chance: Adam's first steps take the signs of gradients, so that weights moved by half a
// unit in their last place lead as far away as another way of rounding a sum does. At the reference's own
// weights the loss is that of the reference (autoencoder_kl_golden_long_test.cpp).
TEST(AutoencoderKlGolden, TrainsInFloat32BesideTheReference) {
  const Golden golden("ae_small_curve");
  for (const std::string kind : {"mu_only", "sampled"}) {
    AutoencoderKl network(small_options());
    const auto losses = testing::train_twenty_steps(network, kind, at::kFloat);
    const at::Tensor expected = golden.at(kind + "/loss_total");
    for (int64_t step = 0; step < expected.size(0); ++step) {
      const double reference = expected[step].item<double>();
      EXPECT_NEAR(losses[static_cast<std::size_t>(step)], reference, 5e-3 * reference) << kind << step;
    }
  }
}

}  // namespace
}  // namespace larmor::nn
