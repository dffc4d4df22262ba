#include "workloads/xray_to_ct/stage/cascade_picture.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/kernels/projector/projector.h"

#include "workloads/xray_to_ct/data/pair_dataset.h"
#include "workloads/xray_to_ct/stage/earlier_samples.h"
#include "workloads/xray_to_ct/tests/small_cascade.h"

namespace larmor::xray_to_ct {
namespace {

/// Keeps what is shown of cases whose voxels are somewhere, or nowhere.
struct CascadeMetrics final : Metrics {
  explicit CascadeMetrics(std::optional<Affine> where) : where(where) {}
  void value(const std::string&, int64_t, double) override {}
  void note(const std::string&, int64_t, double) override {}
  void figure(const std::string&, const SplitMetric&) override {}
  void picture(const std::string&, const Image&) override {}
  bool wants_pictures() const override { return true; }
  ValidationDepth depth() const override { return ValidationDepth::full; }
  std::optional<Affine> grid(int64_t) const override { return where; }
  void show(const std::string&, const Panel& one_frame, PanelCase one) override {
    frame = one_frame;
    shown = std::move(one);
  }

  std::optional<Affine> where;
  Panel frame;
  PanelCase shown;
};

constexpr int64_t cube = 8, film = 16;

/// A CT of water with bone at the head end, and a first stage of half the size that gave air.
CascadeCase made_case(const PairConfig& pairs) {
  at::Tensor hu = at::zeros({cube, cube, cube});
  hu.select(1, 0).fill_(1000);
  const at::Tensor truth = unit_of_hu(hu, pairs);
  return {.radiographs = at::zeros({2, film, film}),
          .reprojections = at::ones({2, film, film}),
          .rays = ray_geometry(pairs.views(2), pairs.positions(cube)),
          .truth = truth,
          .stages = {at::full({cube / 2, cube / 2, cube / 2}, -1.0F), at::zeros_like(truth)}};
}

PairConfig small_pairs() {
  PairConfig pairs;
  pairs.radiograph_size = film;
  return pairs;
}

CascadeMetrics shown_with(std::optional<Affine> grid) {
  CascadeMetrics metrics(grid);
  show_cascade(made_case(small_pairs()), small_pairs(), 0, metrics);
  return metrics;
}

TEST(CascadePicture, HasTheHeadEndOnTopAndGreysInHounsfieldUnits) {
  const auto metrics = shown_with(small_pairs().positions(cube));
  const PanelImage& ct = metrics.shown.images.at(2);
  ASSERT_EQ(ct.planes.size(), 3U);
  for (const std::size_t plane : {0U, 1U}) {
    EXPECT_EQ(ct.planes[plane].top, "S");
    EXPECT_NEAR(ct.planes[plane].values.front(), 1000, 0.1);
    EXPECT_NEAR(ct.planes[plane].values.back(), 0, 0.1);
  }
  EXPECT_EQ(ct.planes[0].left, "A");
  EXPECT_EQ(ct.planes[1].left, "R") << "as radiologists look at it";
  EXPECT_EQ(metrics.frame.scales.at(ct.scale).unit, "HU");
  const PanelImage& difference = metrics.shown.images.back();
  EXPECT_EQ(difference.title, "|CT - stage 2|");
  EXPECT_NEAR(difference.planes[0].values.back(), 1000, 0.1)
      << "0 in [-1, 1] are 1000 HU, and there was water";
}

TEST(CascadePicture, ShowsCoarseVolumesAsLargeAsTheCt) {
  const auto metrics = shown_with(small_pairs().positions(cube));
  const PanelPlane &ct = metrics.shown.images.at(2).planes[1], &coarse = metrics.shown.images.at(3).planes[1];
  EXPECT_EQ(coarse.columns, cube / 2);
  EXPECT_NEAR(coarse.columns * coarse.column_width, ct.columns * ct.column_width, 1e-9);
  EXPECT_NEAR(coarse.rows * coarse.row_height, 400, 1e-9) << "mm";
}

TEST(CascadePicture, ShowsRadiographsInMillimetresOfTheBody) {
  const PairConfig pairs = small_pairs();
  const auto metrics = shown_with(pairs.positions(cube));
  const PanelImage& radiograph = metrics.shown.images.at(0);
  ASSERT_EQ(radiograph.planes.size(), 2U);
  // The edge of the cube that is nearer to the source fills the detector; its middle is farther away.
  const double wide = 400 * pairs.source_to_isocentre / (pairs.source_to_isocentre - 200);
  EXPECT_NEAR(radiograph.planes[0].columns * radiograph.planes[0].column_width, wide, 1e-6);
  EXPECT_EQ(radiograph.planes[0].left, "R");
  EXPECT_EQ(radiograph.planes[1].left, "P") << "anterior is on a lateral radiograph's right";
  EXPECT_EQ(metrics.shown.images.at(1).planes[1].values, std::vector<float>(film * film, 1));
}

TEST(CascadePicture, HasVoxelsForLengthsWhereNobodyKnowsThem) {
  const auto metrics = shown_with(std::nullopt);
  EXPECT_EQ(metrics.frame.unit_of_length, "voxels");
  EXPECT_EQ(metrics.shown.images.at(2).planes[0].column_width, 1);
}

TEST(CascadePicture, ShowsTheSpreadOnOneScale) {
  CascadeMetrics metrics(small_pairs().positions(cube));
  show_spread(at::full({cube, cube, cube}, 30.0F), at::full({cube, cube, cube}, 20.0F), 0, metrics);
  ASSERT_EQ(metrics.shown.images.size(), 2U);
  EXPECT_EQ(metrics.shown.images[0].scale, metrics.shown.images[1].scale);
  EXPECT_EQ(metrics.shown.images[1].planes[2].values.front(), 20);
}

TEST(CascadePicture, HasTheFirstStagesVolumeThatTheSecondOneStoodOn) {
  const at::NoGradGuard no_gradient;
  const auto second = task_of(small_config(2));
  second->objectives().front().network->eval();
  const at::Tensor radiographs =
      batch_of(small_config(2), 2).at(pair::radiographs)[1];  // [V, 1, rows, columns]
  const at::Tensor xrays = radiographs.squeeze(1).unsqueeze(0);
  const auto with_its_draws = [&](int64_t choice, const auto& compute) {
    const DrawScope draws(draws_of_kept_sample(radiographs, choice));
    return compute();
  };
  const at::Tensor kept = with_its_draws(0, [&] { return second->sample({.xrays = xrays}); });
  const auto first = with_its_draws(0, [&] { return second->sampled_before(xrays); });
  ASSERT_EQ(first.size(), 1U);
  const at::Tensor again =
      with_its_draws(0, [&] { return second->sample({.xrays = xrays, .earlier = first[0]}); });
  EXPECT_TRUE(at::equal(again, kept));
  const auto other = with_its_draws(1, [&] { return second->sampled_before(xrays); });
  EXPECT_FALSE(at::equal(other[0], first[0])) << "each choice has draws of its own";
}

}  // namespace
}  // namespace larmor::xray_to_ct
