#include "workloads/latent_diffusion/scans/low_count.h"

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace larmor::latent_diffusion {
namespace {

constexpr uint64_t count_seed = 3;

Volume flat_scan(double brightness) { return {.voxels = at::full({1, 40, 40, 40}, brightness)}; }

at::Tensor counts_of(double brightness, double counts, int64_t number = 0) {
  return with_low_counts(flat_scan(brightness), counts, count_seed, number).voxels * counts / 1000;
}

TEST(LowCounts, AreWholeNumbersWithAPoissonsMeanVarianceAndSkewness) {
  // Below and beyond what one sum of the distribution is used for.
  for (const double brightness : {20.0, 300.0, 1000.0}) {
    constexpr double counts = 50;
    const double mean = brightness * counts / 1000;
    const at::Tensor drawn = counts_of(brightness, counts).to(at::kDouble);
    EXPECT_TRUE(at::allclose(drawn, drawn.round(), 0, 1e-3));
    const double error = std::sqrt(mean / 64000);
    EXPECT_NEAR(drawn.mean().item<double>(), mean, 4 * error);
    EXPECT_NEAR(drawn.var().item<double>() / mean, 1, 0.05) << mean;
    const at::Tensor distance = drawn - mean;
    EXPECT_NEAR((distance * distance * distance).mean().item<double>() / mean, 1, 0.3 + mean / 10) << mean;
  }
}

TEST(LowCounts, LeaveAirEmpty) { EXPECT_EQ(counts_of(0, 30).abs().max().item<float>(), 0); }

TEST(LowCounts, AreTheSameForTheSameHeadAndOthersForAnother) {
  EXPECT_TRUE(at::equal(counts_of(300, 30, 4), counts_of(300, 30, 4)));
  EXPECT_FALSE(at::equal(counts_of(300, 30, 4), counts_of(300, 30, 5)));
}

TEST(PhantomPairs, HaveTheHeadAsLabelAndItsNoisyScanAsImage) {
  DataConfig data;
  data.phantom_size = {16, 16, 16};
  EXPECT_FALSE(PhantomPairs{}.maker(data)) << "without low counts phantoms are those of every workload";
  const PhantomPairs pairs{.low_counts = 30};
  const Volumes pair = pairs.maker(data)({}, 2);
  const at::Tensor image = pair.at("image").voxels, head = pair.at("label").voxels;
  EXPECT_EQ(image.sizes(), head.sizes());
  const double noise = (image - head).square().mean().item<double>();
  EXPECT_NEAR(noise / (head.mean().item<double>() * 1000 / 30), 1, 0.1);
}

}  // namespace
}  // namespace larmor::latent_diffusion
