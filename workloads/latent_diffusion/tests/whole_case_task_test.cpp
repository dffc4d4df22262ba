#include <thread>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "larmor/comm/communicator.h"
#include "larmor/judge/validation.h"

#include "workloads/latent_diffusion/autoencoder/autoencoder_task.h"
#include "workloads/latent_diffusion/tests/small_autoencoder.h"

namespace larmor::latent_diffusion {
namespace {

AutoencoderTask made_task(const ValidationConfig& validation) {
  return {small_autoencoder(), /*seed=*/2, {16, 16, 16}, c10::kCPU, validation};
}

/// Volumes of noise, of two sizes.
class NoisyCases final : public Dataset {
 public:
  int64_t size() const override { return 5; }
  std::string name(int64_t example) const override { return std::to_string(example); }
  Sample get(const ExampleKey& key) const override {
    const int64_t depth = key.example % 2 == 0 ? 24 : 21;
    const auto numbers = at::arange(depth * 16 * 18, at::kFloat) + key.example;
    return {{"image", (at::sin(numbers * 12.9898) * 43758.5453).frac().abs().view({1, depth, 16, 18})}};
  }
};

/// What the first of so many ranks has in the end.
ValidationResult validated(int ranks, int64_t batch, const ValidationConfig& validation) {
  const NoisyCases cases;
  auto communicators = make_thread_ranks(ranks);
  std::vector<ValidationResult> results(communicators.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < communicators.size(); ++rank) {
    threads.emplace_back([&, rank] {
      at::set_num_threads(1);
      auto task = made_task(validation);
      results[rank] = validate(task, cases, *communicators[rank], {.batch = batch});
    });
  }
  for (auto& thread : threads) thread.join();
  return results.front();
}

TEST(AutoencoderTask, JudgesWholeCasesAlikeWhateverTheRanksAndTheBatch) {
  const ValidationConfig windows{.roi_size = {16, 16, 16}};
  const auto expected = validated(1, 1, windows);
  ASSERT_EQ(expected.metrics.at("psnr").per_case.size(), 5U);
  for (const int ranks : {1, 2, 3}) {
    for (const int64_t batch : {1, 2, 4}) {
      const auto result = validated(ranks, batch, windows);
      for (const auto* name : {"loss", "l1", "psnr", "ssim"}) {
        EXPECT_EQ(result.metrics.at(name).per_case, expected.metrics.at(name).per_case)
            << name << ", " << ranks << " ranks, batch " << batch;
        EXPECT_EQ(result.metrics.at(name).mean, expected.metrics.at(name).mean);
      }
    }
  }
}

at::Tensor noisy_case(int64_t number) {
  return NoisyCases().get({.seed = 0, .epoch = 0, .example = number}).at("image").unsqueeze(0);
}

TEST(AutoencoderTask, HasTheFiguresOfOnePassWhereAWindowHoldsTheCase) {
  const torch::NoGradGuard no_grad;
  auto whole = made_task({}), covered = made_task({.roi_size = {32, 32, 32}});
  const auto image = noisy_case(0);
  const auto expected = whole.judge(image), judged = covered.judge(image);
  EXPECT_TRUE(judged.reconstruction.equal(expected.reconstruction));
  EXPECT_TRUE(judged.psnr.equal(expected.psnr));
  EXPECT_TRUE(judged.ssim.equal(expected.ssim));
  auto windows = made_task({.roi_size = {16, 16, 16}});
  EXPECT_FALSE(windows.judge(image).reconstruction.equal(expected.reconstruction));
}

TEST(AutoencoderTask, JudgesInTheWindowsOfATrainingCropWhatMemoryDoesNotHoldInOnePass) {
  const torch::NoGradGuard no_grad;
  auto narrow = made_task({}), windows = made_task({.roi_size = {16, 16, 16}});
  const auto image = noisy_case(0);
  const auto judged = narrow.judge(image, /*fits_in_one_pass=*/false);
  EXPECT_TRUE(judged.reconstruction.equal(windows.judge(image).reconstruction));
  EXPECT_FALSE(judged.reconstruction.equal(narrow.judge(image).reconstruction));
}

/// Of 21 voxels an axis that is padded to 22, and 18: windows of 16 at 0 and 6, and at 0 and 2.
TEST(AutoencoderTask, IsHeldAgainstTheLoopWrittenByHand) {
  const torch::NoGradGuard no_grad;
  auto task = made_task({.roi_size = {16, 16, 16}, .overlap = 0.5});
  const auto image = noisy_case(1);
  const auto padded = at::cat({image, image.narrow(2, 20, 1)}, 2);
  auto sum = at::zeros_like(padded), weights = at::zeros_like(padded);
  const auto offset = (at::arange(16, at::kFloat) - 7.5) / 2;
  const auto bell = at::exp(-offset * offset / 2);
  const auto weight = (bell.view({16, 1, 1}) * bell.view({1, 16, 1}) * bell.view({1, 1, 16})).clamp_min(1e-3);
  for (const int64_t depth : {0, 6}) {
    for (const int64_t width : {0, 2}) {
      const auto part = [&](const at::Tensor& of) { return of.narrow(2, depth, 16).narrow(4, width, 16); };
      auto network = task.network();
      part(sum).add_(network->reconstruct(part(padded).contiguous()) * weight);
      part(weights).add_(weight.expand_as(part(weights)));
    }
  }
  const auto expected = (sum / weights).narrow(2, 0, 21);
  EXPECT_LE((task.judge(image).reconstruction - expected).abs().max().item<double>(), 1e-5);
}

}  // namespace
}  // namespace larmor::latent_diffusion
