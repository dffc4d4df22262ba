#include "workloads/xray_vqa/training/saliency.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/device/initialisation.h"

namespace larmor::xray_vqa {
namespace {

constexpr int64_t cells = 4, channels = 3, objects = 2;

VqaOptions small_parts() {
  VqaOptions options;
  options.image_encoder = ImageEncoder::none;
  options.text_encoder = TextEncoder::none;
  options.map_channels = channels;
  options.interaction = {.width = 16, .heads = 2, .intermediate = 32, .layers = 2};
  options.projection = 8;
  options.embedding = 4;
  options.head_hidden = {8, 8, 8, 8};
  options.labels_hidden = 8;
  return options;
}

struct SmallNetwork {
  SmallNetwork() {
    const SeededInitialisation seeded(3);
    network = VqaNetwork(small_parts());
    network->to(at::kDouble);
    network->eval();
    states = at::randn({1, 5, 16}, at::kDouble);
    map = at::randn({1, channels, cells, cells}, at::kDouble);
  }
  double logit(const at::Tensor& of_map, int64_t answer) {
    const at::NoGradGuard no_gradient;
    return network->answer(of_map, states, inputs).answers[0][0][answer].item<double>();
  }

  VqaNetwork network{nullptr};
  at::Tensor states, map;
  VqaInputs inputs{.image = {},
                   .tokens = {},
                   .tokens_mask = at::ones({1, 5}, at::kBool),
                   .boxes = at::tensor({0.0F, 0.0F, 0.5F, 1.0F, 0.25F, 0.5F, 1.0F, 1.0F}).view({1, 2, 4}),
                   .regions = at::ones({1, objects}, at::kLong),
                   .entities = at::ones({1, objects}, at::kLong),
                   .objects_mask = at::ones({1, objects}, at::kBool)};
};

TEST(Saliency, IsTheMapWeightedByWhatEachChannelDoesToTheAnswer) {
  SmallNetwork small;
  constexpr double step = 1e-5;
  at::Tensor expected = at::zeros({cells, cells}, at::kDouble);
  for (int64_t channel = 0; channel < channels; ++channel) {
    double slope = 0;  // of the answer when all cells of the channel rise together, over their number
    at::Tensor up = small.map.clone(), down = small.map.clone();
    up[0][channel] += step;
    down[0][channel] -= step;
    slope = (small.logit(up, 1) - small.logit(down, 1)) / (2 * step) / (cells * cells);
    expected += slope * small.map[0][channel];
  }
  expected = expected.clamp_min(0);
  const at::Tensor made =
      class_activation(*small.network, small.map, small.states, small.inputs, Head::binary, 1);
  EXPECT_LT((made - expected / expected.max()).abs().max().item<double>(), 1e-6);
  EXPECT_EQ(made.max().item<double>(), 1);
}

TEST(Saliency, LiesWhereTheOnlyBrightFindingIs) {
  SmallNetwork small;
  at::Tensor map = at::zeros({1, channels, cells, cells}, at::kDouble);
  map[0][0][1][2] = 2;
  map[0][0][2][2] = 1;
  // Of yes and no one speaks for what is bright: the other's activation is nothing at all.
  int64_t speaking = 0;
  for (const int64_t answer : {0, 1}) {
    const at::Tensor made =
        class_activation(*small.network, map, small.states, small.inputs, Head::binary, answer);
    if (made.max().item<double>() == 0) continue;
    ++speaking;
    EXPECT_TRUE(at::allclose(made, map[0][0] / 2)) << "all of its mass lies in the finding";
  }
  EXPECT_GE(speaking, 1);
}

TEST(Saliency, IsDrawnOverThePictureAsItWasRead) {
  const at::Tensor picture = at::full({1, 1, 6, 4, 1}, 128.0F);  // six columns, four rows
  at::Tensor activation = at::zeros({4, 6}, at::kDouble);
  activation[0][5] = 1;
  const Image image = activation_over(picture, activation);
  EXPECT_EQ(image.width, 6);
  EXPECT_EQ(image.height, 4);
  ASSERT_EQ(image.channels, 3);
  const auto pixel = [&](int64_t row, int64_t column) {
    const auto first = image.pixels.begin() + (row * 6 + column) * 3;
    return std::vector<int>(first, first + 3);
  };
  EXPECT_EQ(pixel(3, 0), (std::vector<int>{128, 128, 128}));
  EXPECT_EQ(pixel(0, 5), (std::vector<int>{204, 204, 51})) << "0.4 of the grey and 0.6 of yellow";
  const Image large = activation_over(at::zeros({1, 3, 2000, 1000, 1}), activation);
  EXPECT_EQ(large.width, 768);
  EXPECT_EQ(large.height, 384);
}

}  // namespace
}  // namespace larmor::xray_vqa
