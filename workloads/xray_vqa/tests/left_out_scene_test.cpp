#include "workloads/xray_vqa/training/left_out_scene.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/device/draw_position.h"

namespace larmor::xray_vqa {
namespace {

/// Rows of two objects of three each.
VqaInputs made_up_inputs(int64_t rows) {
  VqaInputs inputs;
  inputs.boxes = at::full({rows, 3, 4}, 0.25);
  inputs.regions = at::arange(1, 4).expand({rows, 3}).contiguous();
  inputs.entities = at::arange(4, 7).expand({rows, 3}).contiguous();
  inputs.objects_mask = at::ones({rows, 3}, at::kBool);
  inputs.objects_mask.select(1, 2).fill_(false);
  return inputs;
}

DrawPosition position_of(std::vector<int64_t> examples, int64_t epoch = 0) {
  return {.seed = 5, .epochs = std::vector<int64_t>(examples.size(), epoch), .examples = std::move(examples)};
}

/// The rows that still have their scene.
at::Tensor kept_of(std::vector<int64_t> examples, double share, int64_t epoch = 0) {
  const auto rows = static_cast<int64_t>(examples.size());
  const DrawScope draws(position_of(std::move(examples), epoch));
  return has_scene(with_scenes_left_out(made_up_inputs(rows), share));
}

TEST(LeftOutScene, LeavesTheWholePictureAsTheOnlyObject) {
  const VqaInputs plain = without_scene(made_up_inputs(2));
  EXPECT_TRUE(plain.boxes[1][0].equal(at::tensor({0.0F, 0.0F, 1.0F, 1.0F})));
  EXPECT_EQ(plain.boxes.sum().item<double>(), 2 * 2);
  EXPECT_EQ(plain.regions.abs().sum().item<int64_t>() + plain.entities.abs().sum().item<int64_t>(), 0);
  EXPECT_TRUE(plain.objects_mask.sum(1).eq(1).all().item<bool>());
  EXPECT_TRUE(has_scene(made_up_inputs(2)).all().item<bool>());
  EXPECT_FALSE(has_scene(plain).any().item<bool>());
}

TEST(LeftOutScene, IsDrawnForEachExampleOfEachEpochWhateverIsBesideIt) {
  std::vector<int64_t> all;
  for (int64_t example = 0; example < 400; ++example) all.push_back(example);
  const at::Tensor kept = kept_of(all, 0.25);
  EXPECT_NEAR(kept.to(at::kDouble).mean().item<double>(), 0.75, 0.07);
  EXPECT_TRUE(kept_of({all.begin() + 100, all.end()}, 0.25).equal(kept.slice(0, 100))) << "another rank";
  EXPECT_FALSE(kept_of(all, 0.25, /*epoch=*/1).equal(kept));
  EXPECT_TRUE(kept_of(all, 0).all().item<bool>());
  EXPECT_FALSE(kept_of(all, 1).any().item<bool>());
}

TEST(LeftOutScene, LeavesTheOtherRowsAsTheyAre) {
  const DrawScope draws(position_of({0, 1, 2, 3, 4, 5, 6, 7}));
  const VqaInputs inputs = made_up_inputs(8), some = with_scenes_left_out(inputs, 0.5);
  const VqaInputs plain = without_scene(inputs);
  const at::Tensor kept = has_scene(some);
  for (int64_t row = 0; row < 8; ++row) {
    const VqaInputs& expected = kept[row].item<bool>() ? inputs : plain;
    EXPECT_TRUE(some.boxes[row].equal(expected.boxes[row])) << row;
    EXPECT_TRUE(some.regions[row].equal(expected.regions[row])) << row;
    EXPECT_TRUE(some.entities[row].equal(expected.entities[row])) << row;
    EXPECT_TRUE(some.objects_mask[row].equal(expected.objects_mask[row])) << row;
  }
}

}  // namespace
}  // namespace larmor::xray_vqa
