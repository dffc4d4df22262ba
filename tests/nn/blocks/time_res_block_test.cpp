#include "larmor/nn/blocks/time_res_block.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/device/module_state.h"

#include "tests/nn/support/golden.h"

namespace larmor::nn {
namespace {

constexpr int64_t time_width = 5;

TimeResBlockKind small_kind() { return {.time_channels = time_width, .norm_num_groups = 2}; }

/// The block in plain libtorch; `resample` is applied to both paths.
template <class Resample>
at::Tensor plain_time_res_block(const at::Tensor& whole, const at::Tensor& time, const NamedTensors& weights,
                                const Resample& resample) {
  const auto conv = [&](const at::Tensor& value, const std::string& name, int64_t padding) {
    return at::conv3d(value, weights.at(name + ".conv.weight"), weights.at(name + ".conv.bias"), 1, padding);
  };
  const auto norm = [&](const at::Tensor& value, const std::string& name) {
    return at::silu(at::group_norm(value, 2, weights.at(name + ".weight"), weights.at(name + ".bias"), 1e-6));
  };
  at::Tensor value = conv(resample(norm(whole, "norm1")), "conv1", 1);
  const at::Tensor shift =
      at::linear(at::silu(time), weights.at("time_emb_proj.weight"), weights.at("time_emb_proj.bias"));
  value = value + shift.view({shift.size(0), -1, 1, 1, 1});
  value = conv(norm(value, "norm2"), "conv2", 1);
  const at::Tensor beside = resample(whole);
  return value +
         (weights.contains("skip_connection.conv.weight") ? conv(beside, "skip_connection", 0) : beside);
}

TEST(TimeResBlock, FollowsItsFormulaAtEachResampling) {
  const at::Tensor input = testing::rule_input("image", {2, 4, 4, 6, 2}, -1, 1);
  const at::Tensor skip = testing::rule_input("skip", {2, 2, 4, 6, 2}, -1, 1);
  const at::Tensor time = testing::rule_input("time", {2, time_width}, -1, 1);
  const auto expect_same = [&](Resampling resampling, int64_t out, const auto& resample) {
    TimeResBlock block(small_kind(), 6, out, "block", resampling);
    block.to(at::kDouble);
    testing::rule_fill(block);
    const at::Tensor plain =
        plain_time_res_block(at::cat({input, skip}, 1), time, state_dict(block), resample);
    EXPECT_LE(testing::relative_l2(block.forward(input, skip, time), plain), 1e-12);
    EXPECT_LE(testing::relative_l2(block.forward(at::cat({input, skip}, 1), {}, time), plain), 1e-12);
  };
  for (const int64_t out : {6, 8}) {
    expect_same(Resampling::none, out, [](const at::Tensor& value) { return value; });
    expect_same(Resampling::halved, out, [](const at::Tensor& value) { return at::avg_pool3d(value, 2); });
    expect_same(Resampling::doubled, out, [](const at::Tensor& value) {
      return value.repeat_interleave(2, 2).repeat_interleave(2, 3).repeat_interleave(2, 4);
    });
  }
}

TEST(TimeResBlock, BeginsAsItsShortcutWhereTheKindSaysSo) {
  TimeResBlockKind kind = small_kind();
  kind.starts_as_shortcut = true;
  TimeResBlock block(kind, 4, 4, "block");
  const at::Tensor input = at::rand({1, 4, 2, 2, 2});
  EXPECT_TRUE(at::equal(block.forward(input, {}, at::rand({1, time_width})), input));
}

TEST(TimeResBlock, NamesItsWeightsAsTheKindSays) {
  TimeResBlockKind kind = small_kind();
  kind.time_name = "temb_proj";
  kind.shortcut_name = "nin_shortcut";
  kind.names_convolutions = false;
  const NamedTensors weights = state_dict(TimeResBlock(kind, 4, 6, "block"));
  EXPECT_EQ(weights.size(), 12U);
  for (const std::string name : {"norm1", "conv1", "temb_proj", "norm2", "conv2", "nin_shortcut"})
    EXPECT_TRUE(weights.contains(name + ".weight")) << name;
}

TEST(GroupsThatDivide, AreTheMostOfThoseAllowed) {
  EXPECT_EQ(groups_that_divide(64, 32), 32);
  EXPECT_EQ(groups_that_divide(48, 32), 24);
  EXPECT_EQ(groups_that_divide(20, 32), 20);
  EXPECT_EQ(groups_that_divide(37, 32), 1);
}

}  // namespace
}  // namespace larmor::nn
