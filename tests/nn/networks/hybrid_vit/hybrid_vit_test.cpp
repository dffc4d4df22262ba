#include "larmor/nn/networks/hybrid_vit/hybrid_vit.h"

#include <string>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/device/module_state.h"

namespace larmor::nn {
namespace {

HybridVitOptions three_stages() {
  return {.stages = {{.name = "stage1", .volume_size = 64, .voxel_dim = 256, .vit_depth = 4, .num_heads = 4},
                     {.name = "stage2",
                      .volume_size = 128,
                      .voxel_dim = 384,
                      .vit_depth = 6,
                      .num_heads = 6,
                      .follows_another = true},
                     {.name = "stage3",
                      .volume_size = 256,
                      .voxel_dim = 512,
                      .vit_depth = 8,
                      .num_heads = 8,
                      .follows_another = true}}};
}

int64_t count_under(const torch::nn::Module& network, const std::string& prefix) {
  int64_t count = 0;
  for (const auto& [name, tensor] : state_dict(network)) {
    if (name.starts_with(prefix)) count += tensor.numel();
  }
  return count;
}

TEST(HybridVit, HasTheReferencesParameterCounts) {
  const HybridVit network(three_stages(), c10::kMeta);
  EXPECT_EQ(parameter_count(*network), 135'069'062);
  EXPECT_EQ(count_under(*network, "stages.stage1."), 14'704'642);
  EXPECT_EQ(count_under(*network, "stages.stage2."), 38'109'442);
  EXPECT_EQ(count_under(*network, "stages.stage3."), 80'338'050);
  EXPECT_EQ(count_under(*network, "xray_encoder."), 1'849'600);
  EXPECT_EQ(count_under(*network, "time_embed."), 66'304);
  EXPECT_EQ(count_under(*network, "prev_stage_projectors."), 1'024);
}

HybridVitOptions small_hybrid() {
  return {.stages = {{.name = "stage1", .volume_size = 8, .voxel_dim = 32, .vit_depth = 1, .num_heads = 4}},
          .token_grid = 4,
          .dropout = 0};
}

/// The measured limit of this network: whatever it has learned, its output lies between so many numbers.
TEST(HybridVit, GivesNoMoreThanOneNumberATokenWhateverTheSize) {
  HybridVitOptions options = small_hybrid();
  options.stages.front().volume_size = 16;
  HybridVit network(options);
  const at::NoGradGuard no_gradient;
  const at::Tensor given = network->denoise({.noisy = at::randn({1, 1, 16, 16, 16}),
                                             .time = at::full({1}, 0.5),
                                             .xrays = at::randn({1, 2, 16, 16})});
  ASSERT_EQ(given.sizes(), at::IntArrayRef({1, 1, 16, 16, 16}));
  const at::Tensor tokens = given.slice(2, 0, 16, 5).slice(3, 0, 16, 5).slice(4, 0, 16, 5);
  EXPECT_LT((at::upsample_trilinear3d(tokens, {16, 16, 16}, true) - given).abs().max().item<double>(), 1e-5);
}

TEST(HybridVit, RefusesVolumesAndRadiographsOfOtherShapes) {
  HybridVit network(small_hybrid());
  const auto denoise = [&](int64_t size, int64_t pixels) {
    return network->denoise({.noisy = at::zeros({1, 1, size, size, size}),
                             .time = at::zeros({1}),
                             .xrays = at::zeros({1, 2, pixels, pixels})});
  };
  EXPECT_NO_THROW(denoise(8, 16));
  EXPECT_THROW(denoise(16, 16), Error);
  EXPECT_THROW(denoise(8, 12), Error);
}

TEST(HybridVit, RefusesOptionsThatCannotWork) {
  const auto refused = [](const auto& change) {
    HybridVitOptions options = small_hybrid();
    change(options.stages.front());
    EXPECT_THROW(HybridVit{options}, Error);
  };
  refused([](auto& stage) { stage.volume_size = 12; });
  refused([](auto& stage) { stage.num_heads = 5; });
  refused([](auto& stage) { stage.voxel_dim = 36; });
}

}  // namespace
}  // namespace larmor::nn
