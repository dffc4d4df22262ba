// Every operator of this layer on a GPU: its values and all its gradients are those that it has on the CPU in
// float64, of the same rounded numbers, in each type and layout. The operators of the CPU are held to
// libtorch's by their own tests.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/kernels/attention/attention.h"
#include "larmor/kernels/convolution/channel_bias.h"
#include "larmor/kernels/convolution/conv3d.h"
#include "larmor/kernels/convolution/depthwise_conv.h"
#include "larmor/kernels/convolution/group_norm_silu_conv.h"
#include "larmor/kernels/convolution/upsample_conv.h"
#include "larmor/kernels/draw/draw.h"
#include "larmor/kernels/draw/philox.h"
#include "larmor/kernels/linear_layer.h"
#include "larmor/kernels/norms/group_norm_silu.h"
#include "larmor/kernels/norms/token_norm.h"
#include "larmor/kernels/projector/projector.h"

#include "tests/kernels/support/batch_norm_cases.h"
#include "tests/kernels/support/card_case.h"
#include "tests/support/card/device_of_tests.h"

namespace larmor::testing {
namespace card {
namespace {

using at::Tensor;
using Sizes = std::vector<int64_t>;
using Tensors = std::vector<Tensor>;

class Card : public ::testing::Test {
 protected:
  void SetUp() override {
    if (device_of_tests().is_cpu()) GTEST_SKIP() << "a GPU computes it, with LARMOR_TEST_DEVICE=cuda";
  }
};

void expect_on_card(const CardCase& given) { expect_cpu_values(given, device_of_tests()); }

/// An input [2, in, image…] and a weight [out, in, kernel…] with its bias.
CardCase convolution(const std::string& name, Sizes input, Sizes weight, int64_t stride, int64_t padding) {
  const int64_t out = weight[0];
  return {.name = "conv3d " + name,
          .leaves = {std::move(input), std::move(weight), {out}},
          .run = [=](const Tensors& leaves) {
            return conv3d(leaves[0], leaves[1], leaves[2], {stride, stride, stride},
                          {padding, padding, padding});
          }};
}

TEST_F(Card, ConvolvesAsTheCpuDoes) {
  expect_on_card(convolution("of 3", {2, 16, 9, 10, 11}, {24, 16, 3, 3, 3}, 1, 1));
  expect_on_card(convolution("of stride 2", {2, 8, 16, 12, 20}, {16, 8, 3, 3, 3}, 2, 1));
  expect_on_card(convolution("of one voxel", {2, 32, 5, 6, 7}, {8, 32, 1, 1, 1}, 1, 0));
  expect_on_card(convolution("of few slices", {1, 8, 2, 17, 19}, {8, 8, 3, 3, 3}, 1, 1));
  expect_on_card(convolution("from one channel", {2, 1, 20, 18, 16}, {16, 1, 7, 7, 7}, 1, 3));
  expect_on_card(convolution("to one channel", {2, 64, 12, 14, 16}, {1, 64, 3, 3, 3}, 1, 1));
  expect_on_card(convolution("of 64 channels", {1, 64, 24, 28, 20}, {64, 64, 3, 3, 3}, 1, 1));
}

TEST_F(Card, UpsamplesAndConvolvesAsTheCpuDoes) {
  const auto run = [](const Tensors& leaves) { return upsample_conv(leaves[0], leaves[1], leaves[2]); };
  for (const Sizes& input : {Sizes{2, 8, 6, 5, 7}, Sizes{1, 8, 2, 9, 9}, Sizes{1, 8, 14, 16, 10}})
    expect_on_card({.name = "upsample_conv", .leaves = {input, {16, 8, 3, 3, 3}, {16}}, .run = run});
}

TEST_F(Card, NormalisesGroupsAsTheCpuDoes) {
  struct Groups {
    Sizes input;
    int64_t groups;
  };
  const Groups cases[] = {{{2, 8, 3, 4, 5}, 4},   {{3, 5, 3, 3}, 1},        {{2, 4, 2}, 2},
                          {{2, 260, 3, 3}, 13},   {{1, 48, 31, 33, 35}, 8}, {{2, 32, 17, 16, 16}, 32},
                          {{1, 300, 5, 6, 7}, 2}, {{1, 64, 40, 48, 24}, 32}};
  for (const auto& [input, groups] : cases) {
    for (const bool activated : {false, true}) {
      const int64_t count = groups, channels = input[1];
      expect_on_card({.name = activated ? "group_norm_silu" : "normalise_groups",
                      .leaves = {input, {channels}, {channels}},
                      .run =
                          [=](const Tensors& leaves) {
                            return activated ? group_norm_silu(leaves[0], count, leaves[1], leaves[2], 1e-5)
                                             : normalise_groups(leaves[0], count, leaves[1], leaves[2], 1e-5);
                          },
                      .keeps_float32 = true});
    }
  }
}

TEST_F(Card, NormalisesAndConvolvesAsTheCpuDoes) {
  expect_on_card({.name = "group_norm_silu_conv",
                  .leaves = {{2, 16, 8, 9, 10}, {16}, {16}, {24, 16, 3, 3, 3}, {24}},
                  .run = [](const Tensors& leaves) {
                    return group_norm_silu_conv(
                        leaves[0], {.groups = 4, .weight = leaves[1], .bias = leaves[2], .epsilon = 1e-5},
                        leaves[3], leaves[4], {1, 1, 1}, {1, 1, 1});
                  }});
}

TEST_F(Card, NormalisesBatchesAsTheCpuDoes) {
  for (const CardCase& each : batch_norm_cases()) expect_on_card(each);
}

TEST_F(Card, RemembersMomentsAsTheCpuDoes) {
  for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kHalf})
    expect_near(remembered_moments(device_of_tests(), type), remembered_moments(c10::kCPU, type),
                allowed_of(type), c10::toString(type));
}

TEST_F(Card, AddsBiasesAsTheCpuDoes) {
  for (const Sizes& input : {Sizes{2, 8, 3, 4, 5}, Sizes{3, 48, 9, 11, 13}, Sizes{2, 6, 15, 14}})
    for (const Sizes& bias : {Sizes{input[1]}, Sizes{input[0], input[1]}})
      expect_on_card({.name = "add_channel_bias",
                      .leaves = {input, bias},
                      .run = [](const Tensors& leaves) { return add_channel_bias(leaves[0] * 1, leaves[1]); },
                      .keeps_float32 = true});
}

TEST_F(Card, NormalisesTokensAsTheCpuDoes) {
  for (const Sizes& input : {Sizes{2, 5, 16}, Sizes{2, 600, 64}, Sizes{4, 37, 257}, Sizes{2, 3, 4, 24}}) {
    const int64_t channels = input.back();
    expect_on_card({.name = "normalise_tokens",
                    .leaves = {input, {channels}, {channels}},
                    .run = [](const Tensors& leaves) {
                      return normalise_tokens(leaves[0], leaves[1], leaves[2], 1e-5);
                    }});
    expect_on_card({.name = "normalise_and_modulate",
                    .leaves = {input, {channels}, {channels}, {input[0], channels}, {input[0], channels}},
                    .run = [](const Tensors& leaves) {
                      return normalise_and_modulate(leaves[0], leaves[1], leaves[2], leaves[3], leaves[4],
                                                    1e-5);
                    }});
  }
}

TEST_F(Card, AttendsAsTheCpuDoes) {
  for (const Sizes& tokens : {Sizes{2, 3, 65, 24}, Sizes{1, 4, 300, 64}, Sizes{2, 2, 9, 8}}) {
    expect_on_card({.name = "attention",
                    .leaves = {tokens, tokens, tokens},
                    .run = [](const Tensors& leaves) { return attention(leaves[0], leaves[1], leaves[2]); }});
    Tensor mask = at::ones({tokens[0], 1, 1, tokens[2]}, at::kBool);
    mask.slice(-1, tokens[2] / 2) = false;
    expect_on_card({.name = "attention with a mask",
                    .leaves = {tokens, tokens, tokens},
                    .run = [=](const Tensors& leaves) {
                      return attention(leaves[0], leaves[1], leaves[2], mask.to(leaves[0].device()));
                    }});
  }
}

TEST_F(Card, MultipliesLinearLayersAsTheCpuDoes) {
  expect_on_card(
      {.name = "linear_layer", .leaves = {{784, 80}, {320, 80}, {320}}, .run = [](const Tensors& leaves) {
         return linear_layer(leaves[0], leaves[1], leaves[2]);
       }});
}

TEST_F(Card, ConvolvesDepthwiseAsTheCpuDoes) {
  expect_on_card(
      {.name = "depthwise_conv",
       .leaves = {{2, 96, 14, 15}, {96, 1, 7, 7}, {96}},
       .run = [](const Tensors& leaves) { return depthwise_conv(leaves[0], leaves[1], leaves[2]); }});
}

void expect_same_bits(const Tensor& on_card, const Tensor& on_cpu, const char* what) {
  EXPECT_EQ(on_card.device(), device_of_tests());
  EXPECT_TRUE(at::equal(on_card.to(at::kCPU), on_cpu)) << what;
}

TEST_F(Card, DrawsTheBitsOfTheCpu) {
  constexpr uint64_t key = 0x1234'5678'9abc'def0;
  const Tensor streams =
      at::tensor({int64_t{5}, int64_t{-77}, int64_t{1} << 62}, at::TensorOptions(at::kLong));
  const Tensor there = streams.to(device_of_tests());
  for (const Sizes& sizes : {Sizes{3, 1}, Sizes{3, 1023}, Sizes{3, 64, 65, 33}}) {
    expect_same_bits(philox_normal(there, key, sizes), philox_normal(streams, key, sizes), "normals");
    expect_same_bits(philox_uniform(there, key, sizes), philox_uniform(streams, key, sizes), "uniforms");
    expect_same_bits(philox_kept(there, key, sizes, uint64_t{1} << 30U),
                     philox_kept(streams, key, sizes, uint64_t{1} << 30U), "masks");
    for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16}) {
      const Tensor input = draw_normal(3, "input", sizes).to(type);
      expect_same_bits(philox_dropout(input.to(device_of_tests()), there, key, uint64_t{3} << 30U, 4.0 / 3),
                       philox_dropout(input, streams, key, uint64_t{3} << 30U, 4.0 / 3), c10::toString(type));
      const Tensor last = input.movedim(1, -1).contiguous().movedim(-1, 1);
      const Tensor dropped =
          philox_dropout(last.to(device_of_tests()), there, key, uint64_t{3} << 30U, 4.0 / 3);
      expect_same_bits(dropped, philox_dropout(input, streams, key, uint64_t{3} << 30U, 4.0 / 3),
                       "channels last");
      EXPECT_EQ(dropped.strides(), last.strides());
    }
  }
  expect_same_bits(philox_integers(there, key, 1000), philox_integers(streams, key, 1000), "integers");
}

TEST_F(Card, ProjectsAsTheCpuDoes) {
  const std::array<int64_t, 3> size{37, 41, 29};
  const VoxelPositions positions{{{4, 0, 0, -72}, {0, 3.5, 0, -70}, {0, 0, 5, -70}, {0, 0, 0, 1}}};
  std::vector<RadiographView> views;
  for (const double degrees : {0.0, 90.0, 33.0}) {
    for (const Beam beam : {Beam::cone, Beam::parallel})
      views.push_back({.beam = beam, .degrees = degrees, .pixels = {45, 50}, .spacing = {5, 4.5}});
  }
  const Tensor rays = ray_geometry(views, positions);
  for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16}) {
    SCOPED_TRACE(c10::toString(type));
    const Tensor volume = draw_normal(1, "volume", {2, size[0], size[1], size[2]}).to(type);
    const Tensor images = draw_normal(1, "images", {2, static_cast<int64_t>(views.size()), 45, 50}).to(type);
    const Tensor rays_there = rays.to(device_of_tests());
    expect_near(project(volume.to(device_of_tests()), rays_there, 45, 50),
                project(volume, rays, 45, 50).to(at::kDouble), std::min(allowed_of(type), 1e-5),
                "projections");
    expect_near(back_project(images.to(device_of_tests()), rays_there, size),
                back_project(images, rays, size).to(at::kDouble), std::min(allowed_of(type), 1e-5),
                "back projections");
  }
}

}  // namespace
}  // namespace card
}  // namespace larmor::testing
