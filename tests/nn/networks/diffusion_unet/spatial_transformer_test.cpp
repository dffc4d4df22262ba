#include "larmor/nn/networks/diffusion_unet/spatial_transformer.h"

#include <cmath>
#include <string>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/device/module_state.h"

#include "tests/nn/support/golden.h"

namespace larmor::nn {
namespace {

constexpr int64_t transformer_channels = 8, head_width = 4, context_width = 3;

SpatialTransformer small_transformer(int64_t layers) {
  DiffusionUnetOptions options;
  options.norm_num_groups = 2;
  options.cross_attention_dim = context_width;
  options.transformer_num_layers = layers;
  return {options, transformer_channels, head_width, c10::kCPU};
}

/// Tokens [L, C] of one image that ask tokens [M, …], head by head.
at::Tensor plain_attention(const at::Tensor& tokens, const at::Tensor& others, const NamedTensors& weights,
                           const std::string& name) {
  const auto projected = [&](const at::Tensor& from, const std::string& to) {
    return at::matmul(from, weights.at(name + to + ".weight").t());
  };
  const at::Tensor query = projected(tokens, "to_q"), key = projected(others, "to_k"),
                   value = projected(others, "to_v");
  std::vector<at::Tensor> heads;
  for (int64_t first = 0; first < transformer_channels; first += head_width) {
    const auto of_head = [&](const at::Tensor& all) { return all.narrow(1, first, head_width); };
    const at::Tensor scores = at::matmul(of_head(query), of_head(key).t()) / std::sqrt(double{head_width});
    heads.push_back(at::matmul(at::softmax(scores, 1), of_head(value)));
  }
  return projected(at::cat(heads, 1), "out_proj") + weights.at(name + "out_proj.bias");
}

at::Tensor plain_norm(const at::Tensor& tokens, const NamedTensors& weights, const std::string& name) {
  const at::Tensor centred = tokens - tokens.mean(1, true);
  const at::Tensor scaled = centred / (centred.square().mean(1, true) + 1e-5).sqrt();
  return scaled * weights.at(name + ".weight") + weights.at(name + ".bias");
}

at::Tensor plain_layer(at::Tensor tokens, const at::Tensor& context, const NamedTensors& weights,
                       const std::string& name) {
  const at::Tensor normed = plain_norm(tokens, weights, name + "norm1");
  tokens = tokens + plain_attention(normed, normed, weights, name + "attn1.");
  tokens = tokens +
           plain_attention(plain_norm(tokens, weights, name + "norm2"), context, weights, name + "attn2.");
  const at::Tensor hidden =
      at::linear(plain_norm(tokens, weights, name + "norm3"), weights.at(name + "ff.linear1.weight"),
                 weights.at(name + "ff.linear1.bias"));
  const int64_t inner = 4 * transformer_channels;
  const at::Tensor gate = hidden.narrow(1, inner, inner);
  const at::Tensor gated = hidden.narrow(1, 0, inner) * gate * 0.5 * (1 + at::erf(gate / std::sqrt(2.0)));
  return tokens +
         at::linear(gated, weights.at(name + "ff.linear2.weight"), weights.at(name + "ff.linear2.bias"));
}

TEST(SpatialTransformer, FollowsItsFormula) {
  SpatialTransformer transformer = small_transformer(2);
  transformer.to(at::kDouble);
  testing::rule_fill(transformer);
  const NamedTensors weights = state_dict(transformer);
  const at::Tensor input = testing::rule_input("image", {2, transformer_channels, 2, 3, 2}, -1, 1);
  const at::Tensor context = testing::rule_input("context", {2, 5, context_width}, -1, 1);
  const at::Tensor out = transformer.forward(input, context);
  const auto pointwise = [&](const at::Tensor& image, const std::string& name) {
    return at::conv3d(image, weights.at(name + ".conv.weight"), weights.at(name + ".conv.bias"));
  };
  const at::Tensor normed =
      at::group_norm(input, 2, weights.at("norm.weight"), weights.at("norm.bias"), 1e-6);
  const at::Tensor projected = pointwise(normed, "proj_in");
  for (int64_t n = 0; n < 2; ++n) {
    at::Tensor tokens = projected[n].flatten(1).t();
    for (const std::string layer : {"0", "1"})
      tokens = plain_layer(tokens, context[n], weights, "transformer_blocks." + layer + ".");
    const at::Tensor mixed = tokens.t().reshape({1, transformer_channels, 2, 3, 2});
    EXPECT_LE(testing::relative_l2(out[n], input[n] + pointwise(mixed, "proj_out")[0]), 1e-12) << n;
  }
}

TEST(SpatialTransformer, BeginsAsTheIdentity) {
  SpatialTransformer transformer = small_transformer(1);
  const at::Tensor input = at::rand({1, transformer_channels, 2, 2, 2});
  EXPECT_TRUE(at::equal(transformer.forward(input, at::rand({1, 4, context_width})), input));
}

}  // namespace
}  // namespace larmor::nn
