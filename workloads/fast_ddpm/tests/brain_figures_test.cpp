#include "workloads/fast_ddpm/denoiser/brain_figures.h"

#include <cmath>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace larmor::fast_ddpm {
namespace {

TEST(BrainFigures, AreOnTheScaleFromZeroToOne) {
  const at::Tensor truth = at::full({12, 12, 12}, -1.0, at::kDouble);
  truth.slice(0, 3, 9).fill_(0.5);
  const at::Tensor brain = brain_of(truth.unsqueeze(0));
  EXPECT_EQ(brain.sum().item<int64_t>(), 6 * 12 * 12);
  at::Tensor generated = truth.clone();
  generated.slice(0, 3, 9).add_(0.2);  // 0.1 on the scale from 0 to 1
  const auto figures = brain_figures(generated, truth, brain);
  EXPECT_STREQ(figures[2].first, "mae_brain");
  EXPECT_NEAR(figures[2].second, 0.1, 1e-12);
  EXPECT_STREQ(figures[3].first, "psnr_brain");
  EXPECT_NEAR(figures[3].second, 20, 1e-9);
  EXPECT_NEAR(figures[0].second, 20 + 10 * std::log10(2.0), 1e-9) << "half of the volume is brain";
  EXPECT_STREQ(figures[4].first, "psnr_slices");
  EXPECT_NEAR(figures[4].second, figures[0].second, 1e-9) << "all slices are alike";
  EXPECT_LT(figures[5].second, 1);
}

TEST(BackgroundBeside, IsWhereNoGivenModalityShowsTheHead) {
  // Four voxels of three modalities: outside, two of the head, outside for those given alone.
  const at::Tensor image =
      at::tensor({-1.0, 0.3, -1.0, -1.0, /**/ -1.0, 0.2, 0.4, -1.0, /**/ -1.0, -1.0, -1.0, 0.5})
          .view({1, 3, 4, 1, 1});
  const auto beside = [&](const at::Tensor& of, int64_t target) {
    const at::Tensor is_target = at::zeros({1, 3}, at::kBool);
    is_target[0][target] = true;
    const at::Tensor found = background_beside(of, is_target);
    EXPECT_EQ(found.sizes(), (std::vector<int64_t>{1, 1, 4, 1, 1}));
    const at::Tensor row = found.flatten().to(at::kInt).contiguous();
    return std::vector<int>(row.const_data_ptr<int>(), row.const_data_ptr<int>() + 4);
  };
  EXPECT_EQ(beside(image, 2), (std::vector{1, 0, 0, 1}));
  EXPECT_EQ(beside(image, 0), (std::vector{1, 0, 0, 0}));
  at::Tensor one_missing = image.clone();
  one_missing.select(1, 1).zero_();
  EXPECT_EQ(beside(one_missing, 2), (std::vector{1, 0, 1, 1})) << "zeros of a missing modality say nothing";
  EXPECT_EQ(beside(at::zeros_like(image), 2), (std::vector{0, 0, 0, 0}));
}

TEST(BrainFigures, OfSlicesAreOfThoseThatShowBrain) {
  at::Tensor truth = at::full({12, 12, 12}, -1.0, at::kDouble);
  truth.slice(2, 4, 6).fill_(0.5);  // two slices
  const at::Tensor brain = brain_of(truth.unsqueeze(0));
  at::Tensor generated = truth.clone();
  generated.select(2, 4).add_(0.2);
  generated.select(2, 5).add_(0.02);
  generated.select(2, 9).add_(1.0);  // outside the brain
  const auto figures = brain_figures(generated, truth, brain);
  EXPECT_NEAR(figures[4].second, (20 + 40) / 2.0, 1e-9);
}

}  // namespace
}  // namespace larmor::fast_ddpm
