#include "larmor/nn/blocks/time_embedding.h"

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/device/module_state.h"

namespace larmor::nn {
namespace {

TEST(SinusoidalEmbedding, TellsTimesByFrequenciesThatFallAsTheReferences) {
  const at::Tensor times = at::tensor({0, 7, 999}, at::kLong);
  constexpr int64_t width = 8, half = width / 2;
  const at::Tensor monai = sinusoidal_embedding(times, width, Sinusoids::monai),
                   ddpm = sinusoidal_embedding(times, width, Sinusoids::ddpm);
  EXPECT_EQ(monai.scalar_type(), at::kDouble);
  for (int64_t n = 0; n < times.size(0); ++n) {
    const auto time = times[n].item<double>();
    for (int64_t i = 0; i < half; ++i) {
      const double of_monai = time * std::pow(10'000.0, -static_cast<double>(i) / half),
                   of_ddpm = time * std::pow(10'000.0, -static_cast<double>(i) / (half - 1));
      EXPECT_NEAR(monai[n][i].item<double>(), std::cos(of_monai), 1e-11);
      EXPECT_NEAR(monai[n][half + i].item<double>(), std::sin(of_monai), 1e-11);
      EXPECT_NEAR(ddpm[n][i].item<double>(), std::sin(of_ddpm), 1e-11);
      EXPECT_NEAR(ddpm[n][half + i].item<double>(), std::cos(of_ddpm), 1e-11);
    }
  }
}

TEST(SinusoidalEmbedding, EndsWithAZeroWhereTheWidthIsOdd) {
  const at::Tensor odd = sinusoidal_embedding(at::tensor({3}, at::kLong), 9, Sinusoids::monai);
  ASSERT_EQ(odd.size(1), 9);
  EXPECT_EQ(odd[0][8].item<double>(), 0);
  EXPECT_TRUE(
      at::equal(odd.narrow(1, 0, 8), sinusoidal_embedding(at::tensor({3}, at::kLong), 8, Sinusoids::monai)));
}

TEST(TimeEmbedding, IsTwoLinearLayersUnderTheNamesThatItIsGiven) {
  TimeEmbedding embedding(4, 6, "0", "2", c10::kCPU);
  const NamedTensors weights = state_dict(embedding);
  ASSERT_EQ(weights.size(), 4U);
  const at::Tensor input = at::rand({3, 4});
  const at::Tensor hidden = at::silu(at::linear(input, weights.at("0.weight"), weights.at("0.bias")));
  const at::Tensor expected = at::linear(hidden, weights.at("2.weight"), weights.at("2.bias"));
  EXPECT_TRUE(at::allclose(embedding.forward(input), expected, 1e-6, 1e-7));
}

}  // namespace
}  // namespace larmor::nn
