#include "larmor/nn/networks/cascade_vit/cascade_vit.h"

#include <string>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/device/module_state.h"

namespace larmor::nn {
namespace {

CascadeVitOptions small_cascade(bool follows_another) {
  return {.volume_size = 8,
          .patch_size = 2,
          .channels = {8, 12},
          .voxel_dim = 16,
          .vit_depth = 2,
          .num_heads = 2,
          .xray_channels = 8,
          .lifted_channels = 3,
          .xray_tokens = 2,
          .dropout = 0,
          .follows_another = follows_another};
}

CascadeInput input_for(const CascadeVitOptions& options, int64_t rows) {
  const int64_t size = options.volume_size;
  CascadeInput input{.noisy = at::randn({rows, 1, size, size, size}),
                     .time = at::rand({rows}),
                     .xrays = at::randn({rows, options.views(), 20, 24})};
  if (!options.follows_another) return input;
  input.previous = at::randn({rows, 1, size, size, size});
  input.augmented = at::rand({rows});
  return input;
}

/// Weights that say something, in place of the zeros that a new network ends in.
void disturb(torch::nn::Module& network) {
  const at::NoGradGuard no_gradient;
  for (auto& parameter : network.parameters()) parameter.add_(0.1 * at::randn_like(parameter));
}

TEST(CascadeVit, GivesZerosWhenItIsNew) {
  for (const bool follows_another : {false, true}) {
    const auto options = small_cascade(follows_another);
    CascadeVit network(options);
    const at::Tensor out = network->denoise(input_for(options, 2));
    EXPECT_EQ(out.sizes(), at::IntArrayRef({2, 1, 8, 8, 8}));
    EXPECT_EQ(out.abs().max().item<double>(), 0);
  }
}

TEST(CascadeVit, LearnsWithEveryWeight) {
  const auto options = small_cascade(true);
  CascadeVit network(options);
  disturb(*network);
  network->denoise(input_for(options, 2)).square().sum().backward();
  for (const auto& parameter : network->named_parameters()) {
    ASSERT_TRUE(parameter.value().grad().defined()) << parameter.key();
    EXPECT_GT(parameter.value().grad().abs().max().item<double>(), 0) << parameter.key();
  }
}

TEST(CascadeVit, DependsOnEachOfItsInputs) {
  const auto options = small_cascade(true);
  CascadeVit network(options);
  disturb(*network);
  const at::NoGradGuard no_gradient;
  const CascadeInput input = input_for(options, 1);
  const at::Tensor before = network->denoise(input);
  const auto moves = [&](at::Tensor CascadeInput::* part) {
    CascadeInput other = input;
    other.*part = other.*part + 0.5;
    return !at::allclose(network->denoise(other), before, 0, 1e-4);
  };
  EXPECT_TRUE(moves(&CascadeInput::noisy));
  EXPECT_TRUE(moves(&CascadeInput::time));
  EXPECT_TRUE(moves(&CascadeInput::previous));
  EXPECT_TRUE(moves(&CascadeInput::augmented));
  CascadeInput exchanged = input;
  exchanged.xrays = input.xrays.flip({1});
  EXPECT_FALSE(at::allclose(network->denoise(exchanged), before, 0, 1e-4)) << "views have angles";
}

/// Unlike the reference's, whose output has as many degrees of freedom as it has tokens.
TEST(CascadeVit, CanGiveEveryVoxelAValueOfItsOwn) {
  const auto options = small_cascade(false);
  CascadeVit network(options);
  disturb(*network);
  const at::NoGradGuard no_gradient;
  const int64_t voxels = 8 * 8 * 8;
  std::vector<at::Tensor> outputs;
  for (int64_t i = 0; i < voxels + 8; ++i)
    outputs.push_back(network->denoise(input_for(options, 1)).flatten());
  const at::Tensor spread = at::linalg_svdvals(at::stack(outputs).to(at::kDouble));
  EXPECT_GT((spread > 1e-6 * spread[0]).sum().item<int64_t>(), voxels / 2);
}

TEST(CascadeVit, TellsEveryPlaceApartByItsFeatures) {
  constexpr int64_t grid = 16;
  const at::Tensor places = place_features(grid, at::empty({1}));
  ASSERT_EQ(places.sizes(), at::IntArrayRef({1, 18, grid, grid, grid}));
  const at::Tensor each = places[0].flatten(1).t();
  const at::Tensor distances = at::cdist(each, each).fill_diagonal_(10);
  EXPECT_GT(distances.min().item<double>(), 0.1);
  EXPECT_LE(places.abs().max().item<double>(), 1);
}

TEST(CascadeVit, GivesAPlaceTheSameFeaturesOnACoarserGrid) {
  const at::Tensor fine = place_features(24, at::empty({1})), coarse = place_features(8, at::empty({1}));
  using at::indexing::Slice;
  const at::Tensor middles =
      fine.index({Slice(), Slice(), Slice(1, {}, 3), Slice(1, {}, 3), Slice(1, {}, 3)});
  EXPECT_TRUE(at::allclose(middles, coarse, 1e-5, 1e-5));
  // The first wave is half a turn from one end to the other: it grows along its own axis alone.
  const at::Tensor depth = coarse[0][0];
  EXPECT_GT(depth.diff(1, 0).min().item<double>(), 0);
  EXPECT_TRUE(depth.diff(1, 1).eq(0).all().item<bool>());
}

TEST(CascadeVit, PutsPatchesBackWhereTheyCameFrom) {
  const at::Tensor volume = at::randn({2, 3, 4, 8, 12});
  const at::Tensor patches = space_to_depth(volume, 4);
  EXPECT_EQ(patches.sizes(), at::IntArrayRef({2, 3 * 64, 1, 2, 3}));
  EXPECT_TRUE(at::equal(depth_to_space(patches, 4), volume));
  EXPECT_TRUE(at::equal(patches[1][64].flatten(),
                        volume[1][1].slice(0, 0, 4, 4).slice(1, 0, 8, 4).slice(2, 0, 12, 4).flatten()));
}

TEST(CascadeVit, RefusesWhatDoesNotFit) {
  const auto options = small_cascade(true);
  CascadeVit network(options);
  const auto refused = [&](const auto& change) {
    CascadeInput input = input_for(options, 1);
    change(input);
    EXPECT_THROW(network->denoise(input), Error);
  };
  refused([](CascadeInput& input) { input.noisy = at::zeros({1, 1, 8, 8, 4}); });
  refused([](CascadeInput& input) { input.xrays = input.xrays.narrow(1, 0, 1); });
  refused([](CascadeInput& input) { input.previous = at::Tensor(); });
  refused([](CascadeInput& input) { input.previous = at::zeros({1, 1, 4, 4, 4}); });
}

TEST(CascadeVit, RefusesOptionsThatCannotWork) {
  const auto refused = [](const auto& change) {
    CascadeVitOptions options = small_cascade(false);
    change(options);
    EXPECT_THROW(CascadeVit{options}, Error);
  };
  refused([](auto& options) { options.volume_size = 10; });
  refused([](auto& options) { options.num_heads = 3; });
  refused([](auto& options) { options.channels.clear(); });
  refused([](auto& options) { options.view_angles.clear(); });
}

}  // namespace
}  // namespace larmor::nn
