// The building blocks against their plain definitions.
#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/autograd.h>

#include "larmor/device/module_state.h"
#include "larmor/nn/blocks/attention_block.h"
#include "larmor/nn/blocks/block.h"
#include "larmor/nn/blocks/conv_block.h"
#include "larmor/nn/blocks/group_norm.h"
#include "larmor/nn/blocks/resample_block.h"
#include "larmor/nn/networks/autoencoder_kl/res_block.h"

#include "tests/nn/support/golden.h"

namespace larmor::nn {
namespace {

using testing::relative_l2;

constexpr double block_tolerance = 1e-12;

template <class BlockType, class... Arguments>
std::shared_ptr<BlockType> make_filled(Arguments&&... arguments) {
  auto block = std::make_shared<BlockType>(std::forward<Arguments>(arguments)...);
  block->to(at::kDouble);
  testing::rule_fill(*block);
  return block;
}

at::Tensor image(at::IntArrayRef sizes) {
  return testing::rule_input("image", sizes, -1, 1).requires_grad_();
}

/// Gradients of sum(output x weights), weights being no constant, for the input and then every parameter.
std::vector<at::Tensor> block_gradients(const at::Tensor& output, const at::Tensor& input,
                                        const torch::nn::Module& module) {
  std::vector<at::Tensor> inputs = module.parameters();
  inputs.insert(inputs.begin(), input);
  const at::Tensor loss = (output * testing::rule_input("weights", output.sizes(), -1, 1)).sum();
  return torch::autograd::grad({loss}, inputs);
}

void expect_same(const at::Tensor& actual, const at::Tensor& expected, const at::Tensor& input,
                 const torch::nn::Module& module) {
  EXPECT_LE(relative_l2(actual, expected), block_tolerance);
  const auto own = block_gradients(actual, input, module), plain = block_gradients(expected, input, module);
  for (std::size_t i = 0; i < own.size(); ++i) {
    const double size =
        std::max(plain[i].norm().item<double>(), 1.0);  // the bias of to_k has a gradient of zero
    EXPECT_LE((own[i] - plain[i]).norm().item<double>(), block_tolerance * size) << i;
  }
}

at::Tensor normalised(const at::Tensor& input, int64_t groups, double epsilon, const NamedTensors& weights,
                      const std::string& name) {
  const at::Tensor grouped = input.reshape({input.size(0), groups, -1});
  const at::Tensor centred = grouped - grouped.mean(2, true);
  const at::Tensor scaled = (centred / (centred.square().mean(2, true) + epsilon).sqrt()).view(input.sizes());
  const auto by_channel = [](const at::Tensor& tensor) { return tensor.view({1, -1, 1, 1, 1}); };
  return scaled * by_channel(weights.at(name + "weight")) + by_channel(weights.at(name + "bias"));
}

/// Like state_dict, with the graph's own tensors.
NamedTensors parameters(const torch::nn::Module& module) {
  NamedTensors named;
  for (const auto& item : module.named_parameters()) named[item.key()] = item.value();
  return named;
}

at::Tensor convolved(const at::Tensor& input, const NamedTensors& weights, const std::string& name,
                     int64_t stride = 1, int64_t padding = 1) {
  return at::conv3d(input, weights.at(name + ".conv.weight"), weights.at(name + ".conv.bias"), stride,
                    padding);
}

TEST(GroupNorm, FollowsItsFormula) {
  const auto norm = make_filled<GroupNorm>(4, 8, 1e-3, c10::kCPU);
  const at::Tensor input = image({2, 8, 3, 4, 5});
  const auto plain = [&] { return normalised(input, 4, 1e-3, parameters(*norm), ""); };
  expect_same(norm->forward(input), plain(), input, *norm);
  const at::Tensor value = plain();
  expect_same(norm->forward_silu(input), value * at::sigmoid(value), input, *norm);
}

TEST(ResBlock, AddsAShortcutOnlyWhereChannelsChange) {
  for (const int64_t out : {8, 12}) {
    const auto block = make_filled<ResBlock>(8, out, 4, 1e-6, c10::kCPU);
    const at::Tensor input = image({2, 8, 4, 3, 5});
    const NamedTensors weights = parameters(*block);
    at::Tensor plain = convolved(at::silu(normalised(input, 4, 1e-6, weights, "norm1.")), weights, "conv1");
    plain = convolved(at::silu(normalised(plain, 4, 1e-6, weights, "norm2.")), weights, "conv2");
    plain = plain + (out == 8 ? input : convolved(input, weights, "nin_shortcut", 1, 0));
    expect_same(block->forward(input), plain, input, *block);
  }
}

TEST(AttentionBlock, IsAScaledSoftmaxOfEachHead) {
  for (const int64_t heads : {1, 4}) {
    const auto block = make_filled<AttentionBlock>(8, 4, 1e-6, c10::kCPU, heads);
    const at::Tensor input = image({2, 8, 3, 2, 4});
    const NamedTensors weights = parameters(*block);
    const auto linear_of = [&](const at::Tensor& tokens, const std::string& name) {
      return at::linear(tokens, weights.at("attn." + name + ".weight"), weights.at("attn." + name + ".bias"));
    };
    const at::Tensor tokens = normalised(input, 4, 1e-6, weights, "norm.").flatten(2).transpose(1, 2);
    const auto query = linear_of(tokens, "to_q").chunk(heads, 2),
               key = linear_of(tokens, "to_k").chunk(heads, 2),
               value = linear_of(tokens, "to_v").chunk(heads, 2);
    std::vector<at::Tensor> mixed;
    for (std::size_t head = 0; head < query.size(); ++head) {
      const at::Tensor scores =
          at::matmul(query[head], key[head].transpose(1, 2)) / std::sqrt(8.0 / static_cast<double>(heads));
      mixed.push_back(at::matmul(at::softmax(scores, -1), value[head]));
    }
    const at::Tensor out = linear_of(at::cat(mixed, 2), "out_proj");
    expect_same(block->forward(input), input + out.transpose(1, 2).reshape(input.sizes()), input, *block);
  }
}

TEST(Downsample, PadsTheHighSideOnly) {
  const auto block = make_filled<Downsample>(6, c10::kCPU);
  for (const auto& sizes : std::vector<std::vector<int64_t>>{{2, 6, 8, 6, 4}, {1, 6, 5, 7, 9}}) {
    const at::Tensor input = image(sizes);
    const at::Tensor padded = at::constant_pad_nd(input, {0, 1, 0, 1, 0, 1});
    expect_same(block->forward(input), convolved(padded, parameters(*block), "conv", 2, 0), input, *block);
  }
}

TEST(Upsample, RepeatsEachVoxelTwiceAlongEachAxis) {
  const auto block = make_filled<Upsample>(6, c10::kCPU);
  const at::Tensor input = image({2, 6, 3, 4, 5});
  const at::Tensor repeated = input.repeat_interleave(2, 2).repeat_interleave(2, 3).repeat_interleave(2, 4);
  expect_same(block->forward(input), convolved(repeated, parameters(*block), "postconv"), input, *block);
}

TEST(Chain, RunsItsBlocksInOrderAndNumbersTheirWeights) {
  Chain chain;
  chain.push_back(std::make_shared<ConvBlock>(ConvShape{1, 4}, c10::kCPU));
  chain.push_back(std::make_shared<GroupNorm>(2, 4, 1e-6, c10::kCPU));
  const NamedTensors weights = state_dict(chain);
  EXPECT_TRUE(weights.contains("blocks.0.conv.weight"));
  EXPECT_TRUE(weights.contains("blocks.1.bias"));
  EXPECT_EQ(weights.size(), 4U);
  const at::Tensor input = at::rand({1, 1, 4, 4, 4});
  EXPECT_TRUE(at::equal(chain.forward(input), chain.blocks()[1]->forward(chain.blocks()[0]->forward(input))));
}

}  // namespace
}  // namespace larmor::nn
