// Every network on the meta device: nothing is drawn or stored, and its weights have the names and shapes
// that they have on a CPU.
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "larmor/device/initialisation.h"
#include "larmor/device/module_state.h"
#include "larmor/nn/networks/autoencoder_kl/autoencoder_kl.h"
#include "larmor/nn/networks/bert/bert.h"
#include "larmor/nn/networks/cascade_vit/cascade_vit.h"
#include "larmor/nn/networks/convnext/convnext.h"
#include "larmor/nn/networks/diffusion_unet/diffusion_unet.h"
#include "larmor/nn/networks/fast_ddpm_unet.h"
#include "larmor/nn/networks/hybrid_vit/hybrid_vit.h"
#include "larmor/nn/networks/patch_discriminator.h"
#include "larmor/nn/networks/resnet.h"

namespace larmor::nn {
namespace {

struct Network {
  std::string name;
  std::function<std::shared_ptr<torch::nn::Module>(c10::Device)> make;
};

AutoencoderKlOptions with_everything() {
  AutoencoderKlOptions options;
  options.channels = {8, 16};
  options.attention_levels = {false, true};
  options.norm_num_groups = 4;
  options.with_encoder_nonlocal_attn = options.with_decoder_nonlocal_attn = true;
  return options;
}

DiffusionUnetOptions with_context_and_resblock_updown() {
  DiffusionUnetOptions options;
  options.channels = {8, 16};
  options.attention_levels = {true, false};
  options.num_head_channels = {4};
  options.norm_num_groups = 4;
  options.resblock_updown = options.with_conditioning = true;
  options.cross_attention_dim = 3;
  return options;
}

FastDdpmUnetOptions small_fast_ddpm() {
  FastDdpmUnetOptions options;
  options.ch = 8;
  return options;
}

HybridVitOptions hybrid_vit_of_two_stages() {
  HybridVitOptions options{
      .stages = {{.name = "stage1", .volume_size = 32, .voxel_dim = 32, .vit_depth = 1},
                 {.name = "stage2", .volume_size = 32, .voxel_dim = 32, .vit_depth = 1}}};
  options.stages.back().follows_another = true;
  return options;
}

ConvNextOptions small_convnext_classifier() {
  ConvNextOptions options;
  options.depths = {1, 2};
  options.dims = {8, 16};
  options.num_classes = 3;
  options.form = ConvNextForm::classifier;
  return options;
}

BertOptions bert_of_two_layers() {
  BertOptions options;
  options.vocab_size = 20;
  options.hidden_size = options.intermediate_size = 8;
  options.num_hidden_layers = options.num_attention_heads = 2;
  return options;
}

class MetaNetwork : public ::testing::TestWithParam<Network> {};

TEST_P(MetaNetwork, DrawsNothingAndHasTheShapesOfTheRealOne) {
  const uint64_t before = default_generator_fingerprint();
  const auto counted = GetParam().make(c10::kMeta);
  EXPECT_EQ(default_generator_fingerprint(), before);
  const auto real = GetParam().make(c10::kCPU);
  EXPECT_NE(default_generator_fingerprint(), before);
  const NamedTensors shapes = state_dict(*counted), weights = state_dict(*real);
  ASSERT_EQ(shapes.size(), weights.size());
  for (const auto& [name, tensor] : weights) {
    ASSERT_TRUE(shapes.contains(name)) << name;
    EXPECT_TRUE(shapes.at(name).is_meta()) << name;
    EXPECT_EQ(shapes.at(name).sizes(), tensor.sizes()) << name;
    EXPECT_EQ(shapes.at(name).scalar_type(), tensor.scalar_type()) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Every, MetaNetwork,
    ::testing::Values(
        Network{"autoencoder",
                [](c10::Device device) { return AutoencoderKl(with_everything(), device).ptr(); }},
        Network{"diffusion_unet",
                [](c10::Device device) {
                  return DiffusionUnet(with_context_and_resblock_updown(), device).ptr();
                }},
        Network{"fast_ddpm_unet",
                [](c10::Device device) { return FastDdpmUnet(small_fast_ddpm(), device).ptr(); }},
        Network{"cascade_vit",
                [](c10::Device device) {
                  return CascadeVit(CascadeVitOptions{.follows_another = true}, device).ptr();
                }},
        Network{"hybrid_vit",
                [](c10::Device device) { return HybridVit(hybrid_vit_of_two_stages(), device).ptr(); }},
        Network{
            "discriminator",
            [](c10::Device device) { return PatchDiscriminator(PatchDiscriminatorOptions(), device).ptr(); }},
        Network{"convnext",
                [](c10::Device device) { return ConvNext(small_convnext_classifier(), device).ptr(); }},
        Network{"bert", [](c10::Device device) { return Bert(bert_of_two_layers(), device).ptr(); }},
        Network{"resnet", [](c10::Device device) { return ResNet(ResNetOptions(), device).ptr(); }}),
    [](const auto& which) { return which.param.name; });

}  // namespace
}  // namespace larmor::nn
