// Training in float64, for which libtorch has no fast convolution on a CPU.
#include <string>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/nn/networks/autoencoder_kl/autoencoder_kl.h"

#include "tests/nn/support/golden.h"
#include "tests/nn/support/golden_autoencoder.h"

namespace larmor::nn {
namespace {

TEST(AutoencoderKlGolden, TrainsAsTheReferenceInFloat64) {
  const testing::Golden golden("ae_small_curve");
  for (const std::string kind : {"mu_only", "sampled"}) {
    AutoencoderKl network(testing::small_options());
    const auto losses = testing::train_twenty_steps(network, kind, at::kDouble);
    const at::Tensor expected = golden.at(kind + "/loss_total");
    for (int64_t step = 0; step < expected.size(0); ++step) {
      const double reference = expected[step].item<double>();
      EXPECT_NEAR(losses[static_cast<std::size_t>(step)], reference, 1e-9 * reference) << kind << step;
    }
    for (const auto& item : network->named_parameters()) {
      const double norm = golden.number(kind + "/weight_after_20_l2/" + item.key());
      EXPECT_NEAR(item.value().norm().item<double>(), norm, 1e-6 * norm) << item.key();
    }
  }
}

}  // namespace
}  // namespace larmor::nn
