#include "workloads/latent_diffusion/diffusion/filtered_input.h"

#include <cmath>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include "larmor/nn/metrics/image_metrics.h"

#include "workloads/latent_diffusion/tests/noted_metrics.h"

namespace larmor::latent_diffusion {
namespace {

at::Tensor noise(uint64_t seed) {
  return at::randn({1, 12, 10, 8}, at::Generator(at::detail::createCPUGenerator(seed)));
}

/// A wave along one axis, which a narrow filter keeps and a wide one does not.
at::Tensor truth() {
  const at::Tensor wave = at::sin(at::arange(12, at::kDouble) / 2) / 4 + 0.5;
  return wave.reshape({1, 12, 1, 1}).expand({1, 12, 10, 8}).to(at::kFloat);
}

CaseValues noted(double strength, uint64_t seed) {
  NotedMetrics metrics;
  note_filtered(0, truth() + strength * noise(seed), truth(), metrics);
  return metrics.cases;
}

std::map<std::string, double> reported(const CaseValues& cases, const CaseValues& training) {
  NotedMetrics metrics;
  report_filtered(cases, training, metrics);
  return metrics.figures;
}

TEST(FilteredInput, IsASumOverAllVoxelsByTheirDistance) {
  const at::Tensor image = noise(1)[0].slice(0, 0, 5).slice(1, 0, 4).slice(2, 0, 3).to(at::kDouble);
  const double voxels = 0.9;
  const at::Tensor filtered = gaussian_filtered(image.unsqueeze(0), voxels)[0];
  for (int64_t z = 0; z < 5; ++z) {
    double sum = 0, weights = 0;
    for (int64_t d = 0; d < 5; ++d) {
      for (int64_t h = 0; h < 4; ++h) {
        for (int64_t w = 0; w < 3; ++w) {
          const auto square = static_cast<double>((d - z) * (d - z) + (h - 1) * (h - 1) + (w - 2) * (w - 2));
          const double weight = std::exp(-square / (2 * voxels * voxels));
          sum += weight * image[d][h][w].item<double>();
          weights += weight;
        }
      }
    }
    EXPECT_NEAR(filtered[z][1][2].item<double>(), sum / weights, 1e-12) << z;
  }
}

TEST(FilteredInput, IsTheMoreFilteredTheMoreNoiseTrainingCasesHave) {
  const auto weak = reported(noted(0.02, 1), noted(0.02, 2)), strong = reported(noted(0.4, 1), noted(0.4, 2));
  EXPECT_LT(weak.at("gaussian_voxels"), strong.at("gaussian_voxels"));
  EXPECT_GT(strong.at("psnr_gaussian"), strong.at("psnr_input") + 3);
  EXPECT_NEAR(strong.at("psnr_input"), -20 * std::log10(0.4), 0.5);
}

TEST(FilteredInput, IsFilteredAsSuitsTrainingCasesNotThoseThatAreJudged) {
  const auto cases = noted(0.4, 1);
  const auto by_others = reported(cases, noted(0.02, 2));
  EXPECT_EQ(by_others.at("gaussian_voxels"), reported(noted(0.02, 3), noted(0.02, 2)).at("gaussian_voxels"));
  EXPECT_LT(by_others.at("psnr_gaussian"), reported(cases, cases).at("psnr_gaussian"));
  const at::Tensor image = gaussian_filtered(truth() + 0.4 * noise(1), by_others.at("gaussian_voxels"));
  EXPECT_NEAR(by_others.at("psnr_gaussian"),
              nn::psnr(image.unsqueeze(0), truth().unsqueeze(0), 1).item<double>(), 1e-9);
}

TEST(FilteredInput, SaysNothingOfWhatHasNotBeenNoted) {
  NotedMetrics metrics;
  note_filtered(0, at::zeros({2, 4, 4, 4}), at::zeros({1, 4, 4, 4}), metrics);
  EXPECT_TRUE(metrics.cases.empty()) << "two channels are no image of one";
  EXPECT_TRUE(reported({}, noted(0.1, 1)).empty());
  const auto without_training = reported(noted(0.1, 1), {});
  EXPECT_EQ(without_training.size(), 1U);
  EXPECT_TRUE(without_training.contains("psnr_input"));
}

}  // namespace
}  // namespace larmor::latent_diffusion
