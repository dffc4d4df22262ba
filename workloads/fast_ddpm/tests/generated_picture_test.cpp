#include "workloads/fast_ddpm/denoiser/generated_picture.h"

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/device/draw_position.h"

#include "workloads/fast_ddpm/denoiser/denoiser_task.h"

namespace larmor::fast_ddpm {
namespace {

using ::testing::ElementsAre;

/// Keeps what is shown; pictures are wanted.
class ShownHeads final : public Metrics {
 public:
  ShownHeads(ValidationDepth depth, int64_t ranks) : depth_(depth), ranks_(ranks) {}
  void value(const std::string&, int64_t, double) override {}
  void note(const std::string&, int64_t, double) override {}
  void figure(const std::string&, const SplitMetric&) override {}
  void picture(const std::string&, const Image&) override {}
  bool wants_pictures() const override { return true; }
  ValidationDepth depth() const override { return depth_; }
  std::optional<int64_t> shown_as(int64_t example) const override { return example / ranks_; }
  std::optional<Affine> grid(int64_t) const override { return identity_affine(); }
  void show(const std::string& name, const Panel&, PanelCase one) override {
    shown.emplace_back(name, std::move(one));
  }
  std::vector<std::pair<std::string, PanelCase>> shown;

 private:
  ValidationDepth depth_;
  int64_t ranks_;
};

std::vector<std::string> titles_of(const PanelCase& one) {
  std::vector<std::string> titles;
  for (const PanelImage& image : one.images) titles.push_back(image.title);
  return titles;
}

Batch head(int64_t example, const at::Tensor& present = {}) {
  at::manual_seed(7);
  Batch batch{.tensors = {{"image", at::rand({1, 4, 12, 12, 12}) * 2 - 1}},
              .keys = {{.seed = 1, .epoch = 0, .example = example}}};
  if (present.defined()) batch.tensors["present"] = present;
  return batch;
}

ShownHeads judged(ValidationDepth depth, const std::vector<Batch>& heads, int64_t ranks = 1) {
  DenoiserConfig config;
  config.network.ch = 4;
  config.network.ch_mult = {1, 2};
  config.network.num_res_blocks = 1;
  config.timesteps = 2;
  DenoiserTask task(config, /*seed=*/3, {8, 8, 8});
  const at::NoGradGuard no_gradient;
  ShownHeads metrics(depth, ranks);
  for (const Batch& one : heads) {
    const DrawScope draws({.seed = 1, .epochs = {0}, .examples = {one.keys[0].example}});
    task.validate(one, metrics);
  }
  return metrics;
}

TEST(GeneratedPicture, HasTheSourcesTheTargetTheResultAndTheirDifference) {
  const Batch one = head(0);
  const auto shown = judged(ValidationDepth::full, {one}).shown;
  ASSERT_EQ(shown.size(), 4U) << "every modality at full depth";
  EXPECT_EQ(shown[1].first, "t1c");
  const PanelCase& panel = shown[1].second;
  EXPECT_THAT(titles_of(panel), ElementsAre("source t1n", "source t2w", "source t2f", "target t1c",
                                            "result t1c", "|difference|"));
  // The axial plane's first value: right and anterior.
  EXPECT_EQ(panel.images[2].planes[2].values[0], one.at("image")[0][3][11][11][6].item<float>());
  EXPECT_EQ(panel.images[3].planes[2].values[0], one.at("image")[0][1][11][11][6].item<float>());
  EXPECT_EQ(panel.images[5].planes[2].values[5],
            std::abs(panel.images[3].planes[2].values[5] - panel.images[4].planes[2].values[5]));
}

TEST(GeneratedPicture, HasTwoCasesWhileARunTrainsEachWithAnotherModality) {
  const auto shown = judged(ValidationDepth::quick, {head(0), head(4), head(8), head(12)}, /*ranks=*/4).shown;
  ASSERT_EQ(shown.size(), 2U);
  std::vector<std::string> targets;
  for (const auto& [name, one] : shown) {
    EXPECT_EQ(name, "generated");
    targets.push_back(one.images[3].title);
  }
  EXPECT_THAT(targets, ElementsAre("target t1n", "target t1c"));
}

TEST(GeneratedPicture, LeavesOutWhatACaseLacks) {
  const auto shown =
      judged(ValidationDepth::quick, {head(1, at::tensor({1, 0, 1, 1}).to(at::kBool).view({1, 4}))}).shown;
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_THAT(titles_of(shown[0].second),
              ElementsAre("source t1n", "source t2f", "target t2w", "result t2w", "|difference|"));
}

}  // namespace
}  // namespace larmor::fast_ddpm
