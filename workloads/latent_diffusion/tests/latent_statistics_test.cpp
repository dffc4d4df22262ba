#include "workloads/latent_diffusion/diffusion/latent_statistics.h"

#include <utility>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "workloads/latent_diffusion/tests/noted_metrics.h"

namespace larmor::latent_diffusion {
namespace {

/// [2, 4]: channels of means 1 and -2, deviations 1 and 3, moved and widened.
at::Tensor latent(double shift, double widening) {
  const at::Tensor pattern = at::tensor({-1.0, 1.0, -1.0, 1.0}, at::kDouble) * widening;
  return at::stack({1 + shift + pattern, -2 + 3 * shift + 3 * pattern});
}

TEST(LatentStatistics, TellsHowFarMeansAndDeviationsAreOff) {
  NotedMetrics metrics;
  for (int64_t example = 0; example < 3; ++example) {
    note_latent("true", example, latent(0, 1), metrics);
    note_latent("invented", example, latent(0.25, 1.5), metrics);
  }
  report_latent_errors(metrics.cases, metrics);
  EXPECT_NEAR(metrics.figures.at("latent_mean_error"), 0.25, 1e-12);
  EXPECT_NEAR(metrics.figures.at("latent_std_error"), 0.5, 1e-12);
}

TEST(LatentStatistics, CountsWhatDiffersBetweenCasesAsSpread) {
  NotedMetrics metrics;
  for (const double shift : {-1.0, 1.0}) {
    note_latent("true", 0, latent(shift, 0), metrics);
    note_latent("invented", 0, latent(0, 1), metrics);
  }
  report_latent_errors(metrics.cases, metrics);
  EXPECT_NEAR(metrics.figures.at("latent_std_error"), 0, 1e-12);
}

TEST(LatentStatistics, ReportsNothingWhereNothingWasSampled) {
  NotedMetrics metrics;
  report_latent_errors({}, metrics);
  EXPECT_TRUE(metrics.figures.empty());
}

}  // namespace
}  // namespace larmor::latent_diffusion
