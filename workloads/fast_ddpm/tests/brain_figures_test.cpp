#include "workloads/fast_ddpm/denoiser/brain_figures.h"

#include <cmath>

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
