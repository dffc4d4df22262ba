#include "larmor/nn/diffusion/sampling.h"

#include <numeric>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/device/draw_position.h"
#include "larmor/device/heartbeat.h"

#include "tests/nn/support/golden.h"

namespace larmor::nn {
namespace {

using SamplerKind = SamplerOptions::Kind;

Sampler noisy_sampler(int64_t steps) {
  SamplerOptions options;
  options.sampler = SamplerKind::ddpm;
  options.num_inference_steps = steps;
  return {NoiseSchedule(NoiseScheduleOptions{}), PredictionType::epsilon, options};
}

/// Rows that mix within themselves and not with one another.
at::Tensor denoise_rows(const at::Tensor& x, const at::Tensor& times) {
  const at::Tensor rows = x.flatten(1);
  return (0.5 * rows + 0.1 * at::sin(rows.mean(1, true) + times.view({-1, 1}) / 1000))
      .view(x.sizes())
      .to(x.scalar_type());
}

/// Samples number `first` to first + count - 1, in one batch.
at::Tensor samples(int64_t first, int64_t count, int64_t steps = 5) {
  std::vector<int64_t> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), first);
  const DrawScope draws({.seed = 3, .epochs = std::vector<int64_t>(numbers.size(), 0), .examples = numbers});
  return sample(noisy_sampler(steps), at::zeros({count, 2, 3, 4, 5}), denoise_rows);
}

TEST(Sampling, GivesASampleTheSameValuesInAnyBatch) {
  const at::Tensor whole = samples(0, 5);
  EXPECT_TRUE(at::equal(at::cat({samples(0, 2), samples(2, 1), samples(3, 2)}), whole));
  EXPECT_FALSE(at::equal(whole[0], whole[1]));
}

TEST(Sampling, DrawsAnewAtEachStep) {
  std::vector<at::Tensor> seen;
  const DrawScope draws({.seed = 3, .epochs = {0}, .examples = {0}});
  const auto same = [&](const at::Tensor& x, const at::Tensor&) {
    seen.push_back(x);
    return x;
  };
  sample(noisy_sampler(4), at::zeros({1, 2000}), same);
  ASSERT_EQ(seen.size(), 4U);
  // What each step has added to where it led without noise.
  Sampler sampler = noisy_sampler(4);
  std::vector<at::Tensor> added = {seen[0].flatten()};
  for (int64_t i = 0; i < 3; ++i) {
    const at::Tensor& x = seen[static_cast<std::size_t>(i)];
    added.push_back(
        (seen[static_cast<std::size_t>(i) + 1] - sampler.step(i, x, x, at::zeros_like(x))).flatten());
  }
  const at::Tensor correlations = at::corrcoef(at::stack(added)) - at::eye(4);
  EXPECT_LT(correlations.abs().max().item<double>(), 0.1);
}

TEST(Sampling, AsksForTheTimesOfTheSampler) {
  std::vector<double> asked;
  const DrawScope draws({.seed = 3, .epochs = {0, 0}, .examples = {0, 1}});
  sample(noisy_sampler(4), at::zeros({2, 3}), [&](const at::Tensor& x, const at::Tensor& times) {
    EXPECT_EQ(times.sizes(), (std::vector<int64_t>{2}));
    EXPECT_EQ(times.scalar_type(), at::kDouble);
    EXPECT_TRUE(at::equal(times[0], times[1]));
    asked.push_back(times[0].item<double>());
    return x;
  });
  EXPECT_EQ(asked, (std::vector<double>{750, 500, 250, 0}));
}

TEST(Sampling, KeepsTheTypeOfWhatItIsGiven) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16}) {
    SamplerOptions options;
    options.num_inference_steps = 2;
    const DrawScope draws({.seed = 3, .epochs = {0}, .examples = {0}});
    EXPECT_EQ(sample({NoiseSchedule(NoiseScheduleOptions{}), PredictionType::v_prediction, options},
                     at::zeros({1, 4}, type), denoise_rows)
                  .scalar_type(),
              type);
  }
}

/// The mean of `count` samples of each of `rows` examples; one step, which clips noise to [-1, 1].
at::Tensor mean_of_noise(int64_t count, int64_t rows, std::vector<double>* shares = nullptr) {
  SamplerOptions options;
  options.num_inference_steps = 1;
  const Sampler sampler(NoiseSchedule(NoiseScheduleOptions{}), PredictionType::sample, options);
  std::vector<int64_t> numbers(static_cast<std::size_t>(rows));
  std::iota(numbers.begin(), numbers.end(), 0);
  const DrawScope draws({.seed = 3, .epochs = std::vector<int64_t>(numbers.size(), 0), .examples = numbers});
  const auto same = [](const at::Tensor& x, const at::Tensor&) { return x; };
  return mean_of_samples(count, sampler, at::zeros({rows, 2000}), same, [&](double share) {
    if (shares != nullptr) shares->push_back(share);
  });
}

TEST(MeanOfSamples, OfOneIsTheSample) {
  const DrawScope draws({.seed = 3, .epochs = {0}, .examples = {0}});
  const at::Tensor mean = mean_of_samples(1, noisy_sampler(5), at::zeros({1, 2, 3, 4, 5}), denoise_rows);
  EXPECT_TRUE(at::equal(mean, samples(0, 1)));
}

TEST(MeanOfSamples, HasNoiseOfItsOwnForEachSample) {
  const double of_one = mean_of_noise(1, 1).std().item<double>();
  EXPECT_NEAR(mean_of_noise(4, 1).std().item<double>() / of_one, 0.5, 0.025);
}

TEST(MeanOfSamples, IsTheSameInAnyBatch) {
  EXPECT_TRUE(at::equal(mean_of_noise(3, 2)[0], mean_of_noise(3, 1)[0]));
}

TEST(MeanOfSamples, TellsItsProgressOverAllSamples) {
  std::vector<double> shares;
  mean_of_noise(4, 1, &shares);
  EXPECT_EQ(shares, (std::vector<double>{0.25, 0.5, 0.75, 1}));
}

class CountingHeartbeat final : public Heartbeat {
 public:
  void show() override { ++count; }
  int count = 0;
};

TEST(Sampling, TellsItsProgressAndSendsAHeartbeatAStep) {
  CountingHeartbeat heartbeat;
  const HeartbeatScope watched(&heartbeat);
  const DrawScope draws({.seed = 3, .epochs = {0}, .examples = {0}});
  std::vector<double> shares;
  sample(noisy_sampler(4), at::zeros({1, 4}), denoise_rows, [&](double share) { shares.push_back(share); });
  EXPECT_EQ(shares, (std::vector<double>{0.25, 0.5, 0.75, 1}));
  EXPECT_EQ(heartbeat.count, 4);
}

}  // namespace
}  // namespace larmor::nn
