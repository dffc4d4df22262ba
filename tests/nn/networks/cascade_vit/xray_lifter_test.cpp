#include "larmor/nn/networks/cascade_vit/xray_lifter.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/kernels/projector/projector.h"

namespace larmor::nn {
namespace {

constexpr int64_t places = 9;

/// A volume whose axes point anterior, inferior and left, its middle at the origin, 1 mm a voxel.
VoxelPositions anterior_inferior_left() {
  const double middle = (places - 1) / 2.0;
  return {{{0, 0, -1, middle}, {1, 0, 0, -middle}, {0, -1, 0, middle}, {0, 0, 0, 1}}};
}

/// Of volumes of 8 voxels a side, at one level.
CascadeVitOptions small_lifter_options() {
  CascadeVitOptions options;
  options.volume_size = 8;
  options.channels = {8};
  options.xray_channels = 8;
  options.lifted_channels = 3;
  options.xray_tokens = 2;
  return options;
}

/// A voxel is where its ray says that it is: the pixel that it darkens brings its features to it.
TEST(XrayLifter, BringsAPixelToTheVoxelsThatItShows) {
  const at::Tensor volume = at::zeros({1, places, places, places});
  volume[0][2][5][3] = 1;
  for (const double angle : {0.0, 90.0, 180.0, 270.0, -90.0, 30.0, 100.0}) {
    const RadiographView view{
        .beam = Beam::parallel, .degrees = angle, .pixels = {places, places}, .spacing = {1, 1}};
    const at::Tensor shadow = project(volume, ray_geometry({view}, anterior_inferior_left()), places, places);
    const at::Tensor everywhere = (shadow / shadow.max()).unsqueeze(2).expand({1, 1, places, places, places});
    const at::Tensor lifted = along_volume_axes(everywhere.contiguous(), angle)[0][0];
    EXPECT_GT(lifted[2][5][3].item<double>(), 0.6) << angle;
    EXPECT_LT(lifted[2][6][3].item<double>(), 0.1) << angle;
    EXPECT_LT(lifted.mean().item<double>(), 0.04) << angle;
  }
}

/// The beam enters at the front of the detector's depth: what lies deep in the view lies far along the beam.
TEST(XrayLifter, CountsDepthAlongTheBeam) {
  const at::Tensor deep = at::zeros({1, 1, places, places, places});
  deep.select(2, places - 1).fill_(1);
  const auto middle = [&](double angle, int64_t axis, int64_t place) {
    return along_volume_axes(deep, angle)[0][0].select(axis, place).mean().item<double>();
  };
  EXPECT_EQ(middle(0, 0, places - 1), 1) << "anterior";
  EXPECT_EQ(middle(90, 2, 0), 1) << "right";
  EXPECT_EQ(middle(180, 0, 0), 1) << "posterior";
  EXPECT_EQ(middle(270, 2, places - 1), 1) << "left";
}

TEST(XrayLifter, TurnsByAnyAngleAsByQuarters) {
  const at::Tensor lifted = at::randn({2, 3, places, places, places});
  for (const double angle : {0.0, 90.0, 180.0, 270.0})
    EXPECT_TRUE(
        at::allclose(along_volume_axes(lifted, angle), along_volume_axes(lifted, angle + 1e-6), 1e-3, 1e-3))
        << angle;
}

TEST(XrayLifter, TellsEveryTokenApart) {
  const at::Tensor positions = view_positions({0, 90}, 4);
  ASSERT_EQ(positions.size(0), 2 * 4 * 4);
  const at::Tensor distances = at::cdist(positions, positions) + at::eye(positions.size(0), at::kDouble);
  EXPECT_GT(distances.min().item<double>(), 0.05);
}

TEST(XrayLifter, GivesTheSameBitsOnOneThreadAndOnTwo) {
  CascadeVitOptions options;
  options.volume_size = 32;
  options.channels = {8};
  options.xray_channels = 32;
  options.xray_tokens = 2;
  XrayLifter lifter(options, c10::kCPU);
  const at::NoGradGuard no_gradient;
  const at::Tensor xrays = at::randn({1, 2, 32, 32});
  const int before = at::get_num_threads();
  std::vector<std::vector<at::Tensor>> seen;
  for (const int threads : {1, 2}) {
    at::set_num_threads(threads);
    seen.push_back(lifter.forward(xrays));
  }
  at::set_num_threads(before);
  for (std::size_t i = 0; i < seen[0].size(); ++i) EXPECT_TRUE(seen[0][i].equal(seen[1][i])) << i;
}

TEST(XrayLifter, BringsEachPixelsOwnFeaturesToItsDepths) {
  CascadeVitOptions options = small_lifter_options();
  options.view_angles = {0};
  XrayLifter lifter(options, c10::kCPU);
  const at::NoGradGuard no_gradient;
  at::Tensor weight, bias;
  for (auto& parameter : lifter.named_parameters()) {
    if (parameter.key() == "profile.weight") weight = parameter.value();
    if (parameter.key() == "profile.bias") bias = parameter.value();
  }
  const at::Tensor xrays = at::randn({2, 1, 16, 16});
  const at::Tensor before = lifter.forward(xrays)[0];  // [N, lifted, depth, rows, columns]
  constexpr int64_t channel = 1, depth = 2, depths = 4;
  weight[channel * depths + depth].mul_(2);
  bias[channel * depths + depth].mul_(2).add_(1);
  const at::Tensor change = lifter.forward(xrays)[0] - before;
  EXPECT_TRUE(at::allclose(change.select(1, channel).select(1, depth),
                           before.select(1, channel).select(1, depth) + 1, 1e-4, 1e-4));
  change.select(1, channel).select(1, depth).zero_();
  EXPECT_LT(change.abs().max().item<double>(), 1e-6) << "one channel of the product is one depth";
}

TEST(XrayLifter, TakesRadiographsOfAnySize) {
  XrayLifter lifter(small_lifter_options(), c10::kCPU);
  for (const int64_t pixels : {4, 8, 33}) {
    const auto seen = lifter.forward(at::randn({2, 2, pixels, pixels}));
    EXPECT_EQ(seen[0].sizes(), at::IntArrayRef({2, 6, 4, 4, 4}));
    EXPECT_EQ(seen[1].sizes(), at::IntArrayRef({2, 8, 8}));
    EXPECT_EQ(seen[2].sizes(), at::IntArrayRef({2, 8}));
  }
}

}  // namespace
}  // namespace larmor::nn
