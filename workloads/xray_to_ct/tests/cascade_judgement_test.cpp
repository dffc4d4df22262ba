// What evaluate says of a stage's volumes, and of the spread of several samples.
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include "workloads/xray_to_ct/data/pair_dataset.h"
#include "workloads/xray_to_ct/stage/cascade_task.h"
#include "workloads/xray_to_ct/tests/small_cascade.h"

namespace larmor::xray_to_ct {
namespace {

using ::testing::ElementsAre;

struct JudgedMetrics final : Metrics {
  void value(const std::string& name, int64_t example, double value) override {
    values[name].emplace_back(example, value);
  }
  void note(const std::string& name, int64_t example, double value) override {
    notes[name].emplace_back(example, value);
  }
  void figure(const std::string& name, const SplitMetric& figure) override { figures[name] = figure; }
  void picture(const std::string& name, const Image&) override { pictures.insert(name); }
  void show(const std::string& name, const Panel& frame, PanelCase one) override {
    pictures.insert(name);
    frames[name] = frame;
    shown[name].push_back(std::move(one));
  }
  std::optional<Affine> grid(int64_t) const override { return grid_of_cases; }
  bool wants_pictures() const override { return draws; }
  ValidationDepth depth() const override { return ValidationDepth::full; }

  double of(const std::string& name, std::size_t place) const { return values.at(name).at(place).second; }

  CaseValues values, notes;
  std::map<std::string, SplitMetric> figures;
  std::set<std::string> pictures;
  std::map<std::string, Panel> frames;
  std::map<std::string, std::vector<PanelCase>> shown;
  std::optional<Affine> grid_of_cases = {};
  bool draws = true;
};

JudgedMetrics judged(const CascadeConfig& config, int64_t rows, int64_t first = 0,
                     bool draws_pictures = true) {
  const at::NoGradGuard no_gradient;
  const int64_t size = config.network.volume_size;
  const auto task = task_of(config, c10::kCPU, [&] { return at::full({1, size, size, size}, -0.7); });
  task->objectives().front().network->eval();
  Batch batch = batch_of(config, first + rows);
  for (auto& [name, tensor] : batch.tensors) tensor = tensor.narrow(0, first, rows);
  batch.keys.erase(batch.keys.begin(), batch.keys.begin() + first);
  std::vector<int64_t> examples;
  for (const ExampleKey& key : batch.keys) examples.push_back(key.example);
  JudgedMetrics metrics;
  metrics.draws = draws_pictures;
  metrics.grid_of_cases = config.pairs.positions(size);
  const DrawScope draws(draws_for(examples));
  task->validate(batch, metrics);
  CaseValues all = metrics.values;
  all.insert(metrics.notes.begin(), metrics.notes.end());
  task->summarize(all, {}, metrics);
  return metrics;
}

TEST(CascadeJudgement, PutsVolumesBesideWhatNeedsNoNetwork) {
  const auto metrics = judged(small_config(1), 2);
  for (const auto* name : {"psnr", "ssim", "mae_hu_body", "reprojection_ncc", "psnr_mean_volume",
                           "psnr_back_projection", "loss"})
    EXPECT_EQ(metrics.values.at(name).size(), 2U) << name;
  EXPECT_GT(metrics.of("psnr_back_projection", 0), metrics.of("psnr_mean_volume", 0));
  EXPECT_TRUE(metrics.figures.empty()) << "one sample has no spread";
  EXPECT_EQ(metrics.pictures, (std::set<std::string>{"volume"}));
}

TEST(CascadeJudgement, ShowsTheFirstFourCasesAndChangesNoFigure) {
  auto config = small_config(3);
  config.judged_samples = 2;
  const auto metrics = judged(config, 5), plain = judged(config, 5, 0, /*draws_pictures=*/false);
  EXPECT_EQ(metrics.shown.at("volume").size(), 4U);
  EXPECT_EQ(metrics.shown.at("spread").size(), 4U);
  EXPECT_TRUE(plain.pictures.empty());
  EXPECT_EQ(metrics.values, plain.values);
  EXPECT_EQ(metrics.notes, plain.notes);
}

std::vector<std::string> titles_of(const PanelCase& shown) {
  std::vector<std::string> titles;
  for (const PanelImage& image : shown.images) titles.push_back(image.title);
  return titles;
}

TEST(CascadeJudgement, ShowsRadiographsAndEachStageBesideTheCt) {
  const auto shown = judged(small_config(3), 1).shown.at("volume").at(0);
  EXPECT_THAT(titles_of(shown), ElementsAre("radiograph", "reprojection", "CT", "stage 1", "stage 2",
                                            "stage 3", "|CT - stage 3|"));
  EXPECT_THAT(titles_of(judged(small_config(1), 1).shown.at("volume").at(0)),
              ElementsAre("radiograph", "reprojection", "CT", "stage 1", "|CT - stage 1|"));
}

TEST(CascadeJudgement, JudgesTheSpreadOfSeveralSamples) {
  for (const int64_t stage : {1, 2}) {
    auto config = small_config(stage);
    const double one = judged(config, 1).of("psnr", 0);
    config.judged_samples = 4;
    const auto metrics = judged(config, 1);
    EXPECT_EQ(metrics.of("psnr", 0), one) << "the first sample is that of a single one";
    EXPECT_GT(metrics.of("psnr_mean_of_samples", 0), one) << "noise is averaged away";
    EXPECT_LE(std::abs(metrics.of("spread_rank_correlation", 0)), 1);
    const auto& deviation = metrics.figures.at("spread_deviation_hu");
    const auto& error = metrics.figures.at("spread_error_hu");
    ASSERT_EQ(deviation.parts.size(), 10U);
    EXPECT_GT(deviation.parts.back().second, deviation.parts.front().second);
    double sum = 0;
    for (const auto& [decile, value] : error.parts) sum += value * value / 10;
    EXPECT_NEAR(error.value, std::sqrt(sum), 1e-9);
    EXPECT_TRUE(metrics.pictures.contains("spread"));
  }
}

TEST(CascadeJudgement, GivesACaseTheSameSpreadInAnyBatch) {
  auto config = small_config(2);
  config.judged_samples = 3;
  const auto both = judged(config, 2), second = judged(config, 1, 1);
  for (const auto* name : {"psnr_mean_of_samples", "spread_rank_correlation"})
    EXPECT_NEAR(both.of(name, 1), second.of(name, 0), 1e-3) << name;
  EXPECT_NE(both.of("psnr_mean_of_samples", 0), both.of("psnr_mean_of_samples", 1));
  EXPECT_FALSE(both.figures.contains("spread_deviation_hu")) << "half of three samples has no deviation";
}

}  // namespace
}  // namespace larmor::xray_to_ct
