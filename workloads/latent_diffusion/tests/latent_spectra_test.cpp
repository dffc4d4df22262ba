// The figures of invented latents are tried on latents for which the answer is known: true ones, blurred
// ones, noise, copies of training, and one over and over; of smooth fields, and of real heads.
#include "workloads/latent_diffusion/diffusion/latent_spectra.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/formats/volume.h"

#include "workloads/latent_diffusion/diffusion/latent_distance.h"
#include "workloads/latent_diffusion/tests/noted_metrics.h"

#include "tests/support/shared_data.h"

namespace larmor::latent_diffusion {
namespace {

using Latents = std::vector<at::Tensor>;

/// Behind a mean over cubes of `width` voxels; of the same mean.
at::Tensor smoothed(const at::Tensor& latent, int64_t width) {
  return at::avg_pool3d(latent, {width, width, width}, {1, 1, 1}, {width / 2, width / 2, width / 2},
                        /*ceil_mode=*/false, /*count_include_pad=*/false);
}

/// Of mean 0 and deviation 1, a channel.
at::Tensor standardised(const at::Tensor& latent) {
  const at::Tensor flat = latent.flatten(1);
  return ((flat - flat.mean(1, true)) / flat.std(1, true, true)).view_as(latent);
}

Latents noise_like(const Latents& latents) {
  Latents made;
  for (const at::Tensor& latent : latents) made.push_back(at::randn_like(latent));
  return made;
}

Latents blurred(const Latents& latents) {
  Latents made;
  for (const at::Tensor& latent : latents) made.push_back(smoothed(latent, 3));
  return made;
}

/// What a sampler's latents are judged to be.
std::map<std::string, double> judged(const Latents& invented, const Latents& truth, const Latents& training) {
  NotedMetrics cases, reference, figures;
  for (std::size_t i = 0; i < training.size(); ++i) {
    note_blocks(blocks::of_training, static_cast<int64_t>(i), training[i], reference);
    note_place(static_cast<int64_t>(i), training[i], reference);
  }
  for (std::size_t i = 0; i < invented.size(); ++i) {
    note_blocks(blocks::of_invented, static_cast<int64_t>(i), invented[i], cases);
    note_blocks(blocks::of_truth, static_cast<int64_t>(i), truth[i], cases);
    note_place(static_cast<int64_t>(i), invented[i], cases);
  }
  report_frechet(cases.cases, reference.cases, figures);
  report_nearest(cases.cases, reference.cases, figures);
  report_coverage(cases.cases, reference.cases, figures);
  return figures.figures;
}

/// What each of the figures has to say of the five.
void expect_told_apart(const Latents& another, const Latents& truth, const Latents& training) {
  at::manual_seed(11);
  const auto data = judged(another, truth, training), blur = judged(blurred(another), truth, training),
             noise = judged(noise_like(another), truth, training);
  const Latents copies(training.begin(), training.begin() + static_cast<std::ptrdiff_t>(another.size()));
  const auto copied = judged(copies, truth, training);
  const auto repeated = judged(Latents(another.size(), another.front()), truth, training);
  // Data as another sample of data, and before what is blurred, which comes before noise.
  EXPECT_LT(data.at("frechet"), 3 * data.at("frechet_of_truth") + 0.05);
  EXPECT_GT(blur.at("frechet"), 2 * data.at("frechet"));
  EXPECT_GT(noise.at("frechet"), 2 * blur.at("frechet"));
  EXPECT_GT(repeated.at("frechet"), data.at("frechet"));
  // The nearest training image names copies alone.
  EXPECT_EQ(copied.at("nearest_training_latent"), 0);
  EXPECT_GT(data.at("nearest_training_latent"), 0.3);
  // Recall names the image that is repeated.
  EXPECT_EQ(repeated.at("latent_recall"), 0);
  EXPECT_GT(data.at("latent_recall"), 0.3);
  EXPECT_GT(data.at("latent_precision"), 0.3);
  for (const auto& [kind, figures] : std::map<std::string, std::map<std::string, double>>{
           {"data", data}, {"blur", blur}, {"noise", noise}, {"copies", copied}, {"repeated", repeated}}) {
    for (const auto& [name, value] : figures)
      ::testing::Test::RecordProperty(kind + "_" + name, std::to_string(value));
  }
}

Latents fields(int64_t count, uint64_t seed) {
  at::manual_seed(seed);
  Latents all;
  while (static_cast<int64_t>(all.size()) < count)
    all.push_back(standardised(smoothed(at::randn({2, 16, 16, 16}, at::kDouble), 5)));
  return all;
}

TEST(LatentSpectra, TellDataFromWhatABadSamplerMakes) {
  expect_told_apart(fields(20, 1), fields(20, 2), fields(40, 3));
}

// Crops of 48 voxels an axis in twelve places of each head, dealt out in turn: there are few heads, and they
// come from scanners that differ more than a blurred head differs from a sharp one.
TEST(LatentSpectra, TellRealHeadsFromWhatABadSamplerMakes) {
  const auto folder = testing::shared_data() / "brain";
  if (testing::shared_data().empty() || !std::filesystem::exists(folder))
    GTEST_SKIP() << "no shared/data on this machine";
  std::vector<std::filesystem::path> files;
  for (const auto& item : std::filesystem::recursive_directory_iterator(folder)) {
    const auto name = item.path().filename().string();
    const bool is_t1 = name.ends_with("_t1.nii.gz") || name.ends_with("_T1W.nii.gz");
    if (is_t1) files.push_back(item.path());
  }
  std::ranges::sort(files);
  ASSERT_GE(files.size(), 5U);
  Latents parts[3];
  for (const auto& file : files) {
    const at::Tensor head = read_volume(file).voxels.to(at::kDouble);
    const at::Tensor small =
        standardised(at::upsample_trilinear3d(head.unsqueeze(0), {64, 64, 64}, false)[0]);
    int64_t number = 0;
    for (const int64_t z : {0, 8, 16})
      for (const int64_t y : {0, 16})
        for (const int64_t x : {0, 16})
          parts[number++ % 3].push_back(
              small.narrow(1, z, 48).narrow(2, y, 48).narrow(3, x, 48).contiguous());
  }
  expect_told_apart(parts[0], parts[1], parts[2]);
}

TEST(LatentSpectra, AreNothingWhereThereIsNothingToCompare) {
  const auto one = fields(1, 1);
  NotedMetrics cases, figures;
  note_blocks(blocks::of_invented, 0, one.front(), cases);
  report_frechet(cases.cases, {}, figures);
  EXPECT_TRUE(figures.figures.empty());
}

TEST(LatentSpectra, OfTheSameBlocksIsNothing) {
  const auto all = fields(5, 1);
  const auto same = judged(all, all, all);
  EXPECT_NEAR(same.at("frechet"), 0, 1e-9);
  EXPECT_NEAR(same.at("frechet_of_truth"), 0, 1e-9);
}

// By hand: one voxel, so that a block is its mean; Gaussians of means 1 and 4 and deviations 2 and 1.
TEST(LatentSpectra, AreTheFrechetDistanceOfGaussians) {
  const auto latents = [](const std::vector<double>& values) {
    Latents all;
    for (const double value : values) all.push_back(at::full({1, 1, 1, 1}, value, at::kDouble));
    return all;
  };
  const double two = 2 / std::sqrt(2.0), one = 1 / std::sqrt(2.0);
  const auto figures =
      judged(latents({4 - one, 4 + one}), latents({4 - one, 4 + one}), latents({1 - two, 1 + two}));
  EXPECT_NEAR(figures.at("frechet"), (3.0 * 3.0 + 1) / 4, 1e-9);
}

}  // namespace
}  // namespace larmor::latent_diffusion
