#include "larmor/nn/networks/autoencoder_kl/autoencoder_kl.h"

#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/device/module_state.h"
#include "larmor/nn/losses/losses.h"

#include "tests/nn/support/golden.h"
#include "tests/nn/support/golden_autoencoder.h"

namespace larmor::nn {
namespace {

using testing::small_options;

AutoencoderKlOptions reference_options(int64_t image, int64_t latent, std::vector<int64_t> channels,
                                       int64_t res_blocks, std::vector<bool> attention,
                                       bool decoder_nonlocal) {
  AutoencoderKlOptions options;
  options.in_channels = options.out_channels = image;
  options.latent_channels = latent;
  options.channels = std::move(channels);
  options.num_res_blocks = {res_blocks};
  options.norm_num_groups = res_blocks == 1 ? 16 : 32;
  options.attention_levels = std::move(attention);
  options.with_decoder_nonlocal_attn = decoder_nonlocal;
  return options;
}

const AutoencoderKlOptions tutorial =
    reference_options(1, 8, {64, 128, 256}, 2, {false, false, false}, false);
const AutoencoderKlOptions memory_32g =
    reference_options(1, 16, {64, 128, 256}, 2, {false, false, true}, false);
const AutoencoderKlOptions multigpu = reference_options(1, 16, {64, 128, 256}, 2, {false, true, true}, true);
const AutoencoderKlOptions stable = reference_options(1, 8, {32, 64, 128}, 1, {false, false, true}, false);
const AutoencoderKlOptions memory_16g =
    reference_options(2, 8, {64, 128, 256}, 2, {false, false, false}, false);
const AutoencoderKlOptions optimized =
    reference_options(1, 16, {128, 256, 256}, 2, {false, true, true}, true);

/// The blocks that the weights' names and shapes tell of: "0:C1>64 1:R64>64 2:D …".
std::string block_list(const NamedTensors& weights, const std::string& part) {
  std::string list;
  for (int index = 0;; ++index) {
    const std::string block = part + ".blocks." + std::to_string(index) + ".";
    const auto channels = [&](const std::string& name) {
      const at::Tensor& weight = weights.at(block + name);
      return std::to_string(weight.size(1)) + ">" + std::to_string(weight.size(0));
    };
    const auto has = [&](const std::string& name) { return weights.contains(block + name); };
    std::string kind;
    if (has("conv1.conv.weight")) {
      kind = "R" + channels("conv1.conv.weight");
      EXPECT_EQ(has("nin_shortcut.conv.weight"), weights.at(block + "conv1.conv.weight").size(0) !=
                                                     weights.at(block + "conv1.conv.weight").size(1));
    } else if (has("attn.to_q.weight")) {
      kind = "A";
    } else if (has("conv.conv.weight")) {
      kind = "D";
    } else if (has("postconv.conv.weight")) {
      kind = "U";
    } else if (has("conv.weight")) {
      kind = "C" + channels("conv.weight");
    } else if (has("weight")) {
      kind = "GN";
    } else {
      return list;
    }
    list += (index > 0 ? " " : "") + std::to_string(index) + ":" + kind;
  }
}

void expect_network(const AutoencoderKlOptions& options, int64_t parameters, std::size_t tensors,
                    const std::string& encoder, const std::string& decoder) {
  AutoencoderKl network(options);
  EXPECT_EQ(parameter_count(*network), parameters);
  const NamedTensors weights = state_dict(*network);
  EXPECT_EQ(weights.size(), tensors);
  EXPECT_EQ(block_list(weights, "encoder"), encoder);
  EXPECT_EQ(block_list(weights, "decoder"), decoder);
}

TEST(AutoencoderKl, BuildsTheBlocksOfTheReferenceConfigurations) {
  expect_network(
      tutorial, 21'000'353, 130,
      "0:C1>64 1:R64>64 2:R64>64 3:D 4:R64>128 5:R128>128 6:D 7:R128>256 8:R256>256 9:GN 10:C256>8",
      "0:C8>256 1:R256>256 2:R256>256 3:U 4:R256>128 5:R128>128 6:U 7:R128>64 8:R64>64 9:GN 10:C64>1");
  expect_network(
      memory_32g, 22'166'273, 170,
      "0:C1>64 1:R64>64 2:R64>64 3:D 4:R64>128 5:R128>128 6:D 7:R128>256 8:A 9:R256>256 10:A 11:GN "
      "12:C256>16",
      "0:C16>256 1:R256>256 2:A 3:R256>256 4:A 5:U 6:R256>128 7:R128>128 8:U 9:R128>64 10:R64>64 11:GN "
      "12:C64>1");
  expect_network(
      multigpu, 29'776'129, 236,
      "0:C1>64 1:R64>64 2:R64>64 3:D 4:R64>128 5:A 6:R128>128 7:A 8:D 9:R128>256 10:A 11:R256>256 12:A "
      "13:GN 14:C256>16",
      "0:C16>256 1:R256>256 2:A 3:R256>256 4:R256>256 5:A 6:R256>256 7:A 8:U 9:R256>128 10:A 11:R128>128 "
      "12:A 13:U 14:R128>64 15:R64>64 16:GN 17:C64>1");
  expect_network(stable, 3'089'473, 102, "0:C1>32 1:R32>32 2:D 3:R32>64 4:D 5:R64>128 6:A 7:GN 8:C128>8",
                 "0:C8>128 1:R128>128 2:A 3:U 4:R128>64 5:U 6:R64>32 7:GN 8:C32>1");
}

TEST(AutoencoderKl, CountsTheParametersOfTheOtherReferenceConfigurations) {
  EXPECT_EQ(parameter_count(*AutoencoderKl(memory_16g)), 21'003'810);
  EXPECT_EQ(parameter_count(*AutoencoderKl(optimized)), 46'925'249);
}

TEST(AutoencoderKl, GivesTheCheckValuesOfTheStableConfiguration) {
  AutoencoderKl network(stable);
  network->to(at::kDouble);
  testing::rule_fill(*network);
  const at::NoGradGuard no_gradient;
  const auto [mean, sigma] = network->encode(testing::rule_input("input", {1, 1, 16, 16, 16}, 0, 1));
  EXPECT_EQ(mean.sizes().vec(), (std::vector<int64_t>{1, 8, 4, 4, 4}));
  testing::expect_check_values(
      mean, {-1.691664001057e-01, 6.677092534717e-01, 7.421579580809e-01, 1.426312553947e+00});
  testing::expect_check_values(
      sigma, {1.114257655448e+00, 1.114257655448e+00, 1.151011492273e+00, 8.665398457743e-01});
  testing::expect_check_values(network->decode(mean), {3.503940898921e-01, 8.236204440445e-01,
                                                       -1.879847425778e-01, 1.358992266424e-01});
  EXPECT_NEAR(kl_divergence(mean, sigma, 0).item<double>(), 313.3467777900455, 1e-9);
}

TEST(AutoencoderKl, GivesTheCheckValuesOfTwoLevelsWithNonlocalAttention) {
  AutoencoderKlOptions options;
  options.channels = {32, 64};
  options.latent_channels = 4;
  options.attention_levels = {false, true};
  options.with_encoder_nonlocal_attn = options.with_decoder_nonlocal_attn = true;
  AutoencoderKl network(options);
  network->to(at::kDouble);
  testing::rule_fill(*network);
  const at::NoGradGuard no_gradient;
  const auto [mean, sigma] = network->encode(testing::rule_input("input", {2, 1, 8, 12, 16}, 0, 1));
  EXPECT_EQ(mean.sizes().vec(), (std::vector<int64_t>{2, 4, 4, 6, 8}));
  testing::expect_check_values(
      mean, {1.211275119637e-01, 6.886137971026e-01, 5.331177006220e-01, -3.557275197828e-01});
  testing::expect_check_values(
      sigma, {9.665942845453e-01, 9.665942845453e-01, 1.525677637075e+00, 1.007191135528e+00});
  testing::expect_check_values(network->decode(mean), {-6.439331177758e-02, 7.866309338605e-01,
                                                       6.326280303306e-02, 4.105957636895e-01});
}

TEST(AutoencoderKl, KnowsTheLatentsShapeBeforehand) {
  AutoencoderKl network(small_options());
  EXPECT_EQ(network->latent_shape({2, 1, 16, 24, 32}), (std::vector<int64_t>{2, 4, 4, 6, 8}));
  EXPECT_EQ(small_options().size_divisor(), 4);
}

TEST(AutoencoderKl, RefusesImagesThatItCannotHalve) {
  AutoencoderKl network(small_options());
  EXPECT_THROW(network->encode(at::zeros({1, 1, 16, 16, 18})), Error);
  EXPECT_THROW(network->encode(at::zeros({1, 2, 16, 16, 16})), Error);
  EXPECT_THROW(network->encode(at::zeros({1, 16, 16, 16})), Error);
}

TEST(AutoencoderKlOptions, RefusesWhatMakesNoNetworkAndNamesTheKey) {
  const auto refuses = [](void (*spoil)(AutoencoderKlOptions&), const std::string& key) {
    AutoencoderKlOptions options = small_options();
    EXPECT_NO_THROW(options.check());
    spoil(options);
    try {
      options.check();
      ADD_FAILURE() << key << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::usage);
      EXPECT_NE(error.message().find(key), std::string::npos) << error.message();
      EXPECT_FALSE(error.hint().empty());
    }
  };
  refuses([](AutoencoderKlOptions& o) { o.channels.clear(); }, "model.channels");
  refuses([](AutoencoderKlOptions& o) { o.attention_levels.pop_back(); }, "model.attention_levels");
  refuses([](AutoencoderKlOptions& o) { o.num_res_blocks = {1, 2}; }, "model.num_res_blocks");
  refuses([](AutoencoderKlOptions& o) { o.num_res_blocks = {0}; }, "model.num_res_blocks");
  refuses([](AutoencoderKlOptions& o) { o.norm_num_groups = 32; }, "model.norm_num_groups");
  refuses([](AutoencoderKlOptions& o) { o.latent_channels = 0; }, "latent_channels");
  refuses([](AutoencoderKlOptions& o) { o.spatial_dims = 2; }, "model.spatial_dims");
}

}  // namespace
}  // namespace larmor::nn
