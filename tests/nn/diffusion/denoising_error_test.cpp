#include "larmor/nn/diffusion/denoising_error.h"

#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/device/draw_position.h"

namespace larmor::nn {
namespace {

NoiseSchedule a_schedule() { return NoiseSchedule(NoiseScheduleOptions{}); }

TEST(DenoisingErrors, AreMeansOfSquaresOfEachRow) {
  const NoiseSchedule schedule = a_schedule();
  const at::Tensor x0 = at::zeros({2, 1, 2}), noise = at::ones({2, 1, 2});
  const NoiseLevels levels = schedule.levels(at::tensor({10, 500}), x0);
  const at::Tensor output = at::tensor({1.0F, 3.0F, 2.0F, 2.0F}).view({2, 1, 2});
  const auto with = [&](double gamma) {
    return denoising_errors(PredictionType::epsilon, {.x0 = x0, .epsilon = noise}, output, levels, gamma);
  };
  EXPECT_TRUE(with(0).equal(at::tensor({2.0F, 1.0F})));
  const at::Tensor weights = min_snr_weights(PredictionType::epsilon, levels, 5).flatten();
  EXPECT_TRUE(at::allclose(with(5), with(0) * weights));
  EXPECT_FALSE(at::allclose(weights, at::ones({2}))) << "the weights do something here";
}

TEST(MeanOverEvenTimes, LooksAtTheMiddleOfEachQuarterWithNoiseOfItsOwn) {
  const DrawScope draws({.seed = 1, .epochs = {0, 0}, .examples = {3, 4}});
  std::vector<int64_t> times;
  std::vector<at::Tensor> noises;
  const at::Tensor mean = mean_over_even_times(a_schedule(), at::zeros({2, 1, 3}),
                                               [&](const at::Tensor& at_times, const at::Tensor& noise) {
                                                 times.push_back(at_times[1].item<int64_t>());
                                                 noises.push_back(noise);
                                                 return at_times.to(at::kFloat);
                                               });
  EXPECT_EQ(times, (std::vector<int64_t>{125, 375, 625, 875}));
  EXPECT_TRUE(mean.equal(at::tensor({500.0F, 500.0F})));
  EXPECT_FALSE(noises[0].equal(noises[1]));
}

}  // namespace
}  // namespace larmor::nn
