// Training in float64, for which libtorch has no fast convolution on a CPU.
#include <algorithm>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/nn/networks/autoencoder_kl/autoencoder_kl.h"

#include "tests/nn/support/golden.h"
#include "tests/nn/support/golden_autoencoder.h"

namespace larmor::nn {
namespace {

/// The weights of one network, rounded, in the other.
void round_weights(AutoencoderKl& from, AutoencoderKl& to) {
  const at::NoGradGuard no_gradient;
  const std::vector<at::Tensor> exact = from->parameters(), rounded = to->parameters();
  for (std::size_t i = 0; i < exact.size(); ++i) rounded[i].copy_(exact[i]);
}

/// The loss of a network of float32 at the weights of each step of training in float64.
class SingleBesideExact {
 public:
  SingleBesideExact(std::string kind, AutoencoderKl exact)
      : kind_(std::move(kind)), exact_(std::move(exact)), single_(testing::small_options()) {}

  void expect_reference(int step) {
    const testing::Golden golden("ae_small_curve");
    round_weights(exact_, single_);
    const at::NoGradGuard no_gradient;
    const double loss = testing::curve_loss(single_, kind_, step, at::kFloat).item<double>();
    // Errors of single steps scatter: the largest so far is the measure.
    allowed_ = std::max(allowed_, golden.at(kind_ + "/fp32_error_loss_total")[step].item<double>());
    EXPECT_NEAR(loss, golden.at(kind_ + "/loss_total")[step].item<double>(), 3 * std::min(allowed_, 2e-7))
        << kind_ << step;
  }

 private:
  std::string kind_;
  AutoencoderKl exact_, single_;
  double allowed_ = 1e-7;
};

TEST(AutoencoderKlGolden, TrainsAsTheReferenceInFloat64) {
  const testing::Golden golden("ae_small_curve");
  for (const std::string kind : {"mu_only", "sampled"}) {
    AutoencoderKl network(testing::small_options());
    SingleBesideExact single(kind, network);
    const auto losses = testing::train_twenty_steps(network, kind, at::kDouble,
                                                    [&](int step) { single.expect_reference(step); });
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
