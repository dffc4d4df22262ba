#include <map>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/config/run_config.h"
#include "larmor/task/prediction.h"
#include "larmor/transforms/mask_name.h"

#include "organs/organs_stage.h"

namespace larmor::segmentation {
namespace {

const OrgansConfig small{.classes = {"ball", "cube"}, .features = {4, 8, 4}};

OrgansTask task_of(const OrgansConfig& config = small) {
  return OrgansTask(config, {.seed = 1, .window = {8, 8, 8}});
}

/// What the stage invents, as a run has it: a volume and its map of both classes, alike bright.
TEST(OrgansStage, InventsBodiesOfBothClassesThatAreAlikeBright) {
  OrgansStage stage;
  RunConfig config;
  config.data.kind = "phantom";
  config.data.phantom_cases = 4;
  config.data.phantom_size = {24, 24, 24};
  EXPECT_TRUE(stage.invents_data(config));
  const auto dataset = stage.dataset(config, stage.index(config), Split::train);
  const Sample sample = dataset->get({1, 0, 0});
  const at::Tensor &image = sample.at("image"), &label = sample.at(std::string(label_as_mask));
  ASSERT_EQ(image.sizes(), label.sizes());
  const auto brightness = [&](int64_t one_class) {
    return image.masked_select(label.eq(one_class)).mean().item<double>();
  };
  EXPECT_NEAR(brightness(0), 0, 0.05);
  EXPECT_NEAR(brightness(1), 1, 0.1);
  EXPECT_NEAR(brightness(2), 1, 0.1);
  EXPECT_LT(label.gt(0).to(at::kFloat).mean().item<double>(), 0.25);
}

TEST(OrgansTask, LearnsFromOneForwardPassAndPredictsClassesOfTheImagesSize) {
  OrgansTask task = task_of();
  Batch batch{.tensors = {{"image", at::rand({2, 1, 8, 8, 8})},
                          {std::string(label_as_mask), at::randint(3, {2, 1, 8, 8, 8}).to(at::kFloat)}},
              .keys = {{1, 0, 0}, {1, 0, 1}}};
  const auto losses = task.losses(batch, {});
  ASSERT_EQ(losses.size(), 1U);
  losses.front().backward();
  PredictionContext context;
  context.grids["image"] = {.size_of_file = {9, 8, 11}};
  const Batch odd{.tensors = {{"image", at::rand({1, 1, 9, 8, 11})}}, .keys = {{1, 0, 0}}};
  const at::Tensor map = task.predict(odd, context).volumes.at("label").voxels;
  EXPECT_EQ(map.sizes(), at::IntArrayRef({1, 9, 8, 11}));
  EXPECT_TRUE(at::isIntegralType(map.scalar_type(), false));
  EXPECT_LE(map.max().item<int64_t>(), 2);
}

/// Keeps what it is told.
class Kept final : public Metrics {
 public:
  void value(const std::string& name, int64_t, double value) override { values[name] = value; }
  void note(const std::string& name, int64_t, double value) override { values[name] = value; }
  void figure(const std::string&, const SplitMetric&) override {}
  void picture(const std::string&, const Image&) override {}
  bool wants_pictures() const override { return false; }
  ValidationDepth depth() const override { return ValidationDepth::quick; }

  std::map<std::string, double> values;
};

TEST(OrgansTask, IsJudgedByDiceOfEachClassAndBesideWhatBrightnessAloneSays) {
  OrgansTask task = task_of();
  at::Tensor truth = at::zeros({1, 1, 8, 8, 8});
  truth.slice(2, 0, 2).fill_(1);
  truth.slice(2, 6, 8).fill_(2);
  const Batch batch{.tensors = {{"image", truth.gt(0).to(at::kFloat)}, {std::string(label_as_mask), truth}},
                    .keys = {{1, 0, 0}}};
  const at::NoGradGuard no_grad;
  Kept kept;
  task.validate(batch, kept);
  EXPECT_TRUE(kept.values.contains("dice ball"));
  EXPECT_TRUE(kept.values.contains("loss"));
  // All that is bright for balls, half of which are cubes: 2 · 128 / (256 + 128), and no cube is found.
  EXPECT_DOUBLE_EQ(kept.values.at("dice_bright ball"), 2.0 / 3);
  EXPECT_EQ(kept.values.at("dice_bright cube"), 0);
}

}  // namespace
}  // namespace larmor::segmentation
