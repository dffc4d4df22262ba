#include <map>
#include <string>
#include <thread>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "larmor/comm/communicator.h"
#include "larmor/device/draw_position.h"
#include "larmor/judge/validation.h"
#include "larmor/task/prediction.h"

#include "workloads/fast_ddpm/denoiser/brain_figures.h"
#include "workloads/fast_ddpm/denoiser/denoiser_task.h"

namespace larmor::fast_ddpm {
namespace {

const std::vector<std::string> modalities{"t1n", "t1c", "t2w", "t2f"};

DenoiserTask made_task(const ValidationConfig& validation, bool always_in_windows = false) {
  DenoiserConfig config;
  config.network.ch = 4;
  config.network.ch_mult = {1, 2};
  config.network.num_res_blocks = 1;
  config.network.dropout = 0;
  config.timesteps = 2;
  config.always_in_windows = always_in_windows;
  return {config, /*seed=*/3, {12, 12, 12}, c10::kCPU, validation};
}

/// Volumes of noise in [-1, 1], of two sizes; `odd`: one that the network cannot halve.
class NoisyHeads final : public Dataset {
 public:
  explicit NoisyHeads(bool odd) : odd_(odd) {}
  int64_t size() const override { return 3; }
  std::string name(int64_t example) const override { return std::to_string(example); }
  Sample get(const ExampleKey& key) const override {
    const int64_t depth = key.example % 2 == 0 ? 20 : odd_ ? 17 : 18;
    const auto numbers = at::arange(4 * depth * 14 * 12, at::kFloat) + key.example;
    const auto noise = (at::sin(numbers * 12.9898) * 43758.5453).frac().abs() * 2 - 1;
    return {{"image", noise.view({4, depth, 14, 12})}};
  }

 private:
  bool odd_;
};

/// What the first of so many ranks has in the end.
ValidationResult validated(const ValidationConfig& validation, bool odd, int ranks = 1, int64_t batch = 1) {
  const NoisyHeads cases(odd);
  auto communicators = make_thread_ranks(ranks);
  std::vector<ValidationResult> results(communicators.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < communicators.size(); ++rank) {
    threads.emplace_back([&, rank] {
      at::set_num_threads(1);
      auto task = made_task(validation);
      results[rank] = validate(task, cases, *communicators[rank],
                               {.seed = 5, .depth = ValidationDepth::full, .batch = batch});
    });
  }
  for (auto& thread : threads) thread.join();
  return results.front();
}

void expect_same_figures(const ValidationResult& result, const ValidationResult& expected) {
  for (const auto* name : {"loss", "psnr", "ssim", "psnr_brain", "mae_brain"}) {
    EXPECT_EQ(result.metrics.at(name).per_case, expected.metrics.at(name).per_case) << name;
    EXPECT_EQ(result.metrics.at(name).mean, expected.metrics.at(name).mean) << name;
  }
}

TEST(WholeCases, AreJudgedAlikeWhateverTheRanksAndTheBatch) {
  const ValidationConfig windows{.roi_size = {12, 12, 12}};
  const auto expected = validated(windows, /*odd=*/true);
  ASSERT_EQ(expected.metrics.at("psnr").per_case.size(), 3U);
  for (const int ranks : {1, 2, 3}) {
    for (const int64_t batch : {1, 2})
      expect_same_figures(validated(windows, /*odd=*/true, ranks, batch), expected);
  }
}

TEST(WholeCases, HaveTheFiguresOfOnePassWhereAWindowHoldsThem) {
  const auto expected = validated({}, /*odd=*/false);
  expect_same_figures(validated({.roi_size = {24, 24, 24}}, /*odd=*/false), expected);
  const auto in_windows = validated({.roi_size = {12, 12, 12}}, /*odd=*/false);
  EXPECT_NE(in_windows.metrics.at("loss").mean, expected.metrics.at("loss").mean);
  EXPECT_NE(in_windows.metrics.at("psnr").mean, expected.metrics.at("psnr").mean);
}

/// The modality `target` of the first head as `predict` generates it from the noise that validation draws, in
/// [-1, 1].
at::Tensor predicted(DenoiserTask& task, const Sample& head, int64_t target, bool fits) {
  const at::NoGradGuard no_gradient;
  task.objectives().front().network->eval();
  Batch inputs{.tensors = {}, .keys = {{.seed = 5, .epoch = 0, .example = 0}}};
  PredictionContext context;
  const at::Tensor& image = head.at("image");
  for (int64_t channel = 0; channel < 4; ++channel) {
    if (channel == target) continue;
    const auto& name = modalities[static_cast<std::size_t>(channel)];
    inputs.tensors[name] = image.narrow(0, channel, 1).unsqueeze(0);
    context.grids[name] = {.size_of_file = {image.size(1), image.size(2), image.size(3)}};
  }
  context.fits_in_one_pass = [fits](double) { return fits; };
  constexpr uint64_t apart = 0x9e3779b97f4a7c15;  // of the draws for one target and the next
  const DrawScope draws(
      {.seed = 5 ^ (apart * static_cast<uint64_t>(target + 1)), .epochs = {0}, .examples = {0}});
  return task.predict(inputs, context).volumes.at(DenoiserTask::output_name).voxels / 500 - 1;
}

/// `fits`: in one pass, and one window holds the case; otherwise both go over it in the same windows.
void expect_figures_of_prediction(bool fits) {
  const auto size = fits ? 24 : 12;
  const ValidationConfig windows{.roi_size = {size, size, size}};
  const auto judged = validated(windows, /*odd=*/false);
  const Sample head = NoisyHeads(false).get({.seed = 5, .epoch = 0, .example = 0});
  auto task = made_task(windows);
  const at::Tensor& image = head.at("image");
  std::map<std::string, double> sums;
  for (int64_t target = 0; target < 4; ++target) {
    const auto generated = predicted(task, head, target, fits)[0];
    for (const auto& [name, value] : brain_figures(generated, image[target], brain_of(image)))
      sums[name] += value / 4;
  }
  for (const auto& [name, mean] : sums)
    EXPECT_NEAR(judged.metrics.at(name).per_case.front().second, mean, 1e-4) << name;
}

TEST(WholeCases, HaveTheFiguresOfWhatPredictWrites) {
  expect_figures_of_prediction(/*fits=*/false);
  expect_figures_of_prediction(/*fits=*/true);
}

/// A network that says the same of every voxel has no seams: only noise of the whole volume gives it the same
/// loss.
TEST(WholeCases, AreCutFromTheNoiseOfTheWholeVolume) {
  const at::NoGradGuard no_gradient;
  const NoisyHeads cases(false);
  const auto loss_in = [&](const ValidationConfig& validation) {
    auto task = made_task(validation);
    for (const auto& item : task.objectives().front().network->named_parameters()) {
      if (item.key() == "conv_out.weight") item.value().zero_();
      if (item.key() == "conv_out.bias") item.value().fill_(0.25);
    }
    const auto solo = make_solo();
    return validate(task, cases, *solo, {.seed = 5}).metrics.at("loss").mean;
  };
  EXPECT_NEAR(loss_in({.roi_size = {12, 12, 12}, .overlap = 0.5}), loss_in({}), 1e-6);
}

}  // namespace
}  // namespace larmor::fast_ddpm
