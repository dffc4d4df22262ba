#include "workloads/latent_diffusion/diffusion/diffusion_stage.h"

#include <cstdlib>
#include <filesystem>
#include <string>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/run/loaded_stage.h"
#include "larmor/transforms/declared_chain.h"
#include "larmor/transforms/transforms.h"

#include "workloads/latent_diffusion/autoencoder/autoencoder_stage.h"
#include "workloads/latent_diffusion/workload.h"

namespace larmor::latent_diffusion {
namespace {

using ::testing::HasSubstr;

LoadedStage load_shipped(const std::string& stage, const std::string& name,
                         const std::vector<std::string>& overrides = {}) {
  const char* const source = std::getenv("LARMOR_SOURCE");
  const auto root = source == nullptr ? std::filesystem::current_path() : std::filesystem::path(source);
  const auto folder = root / "workloads/latent_diffusion" / stage / "configs";
  Sources sources;
  sources.files = {folder / "default.yaml"};
  if (name != "default") sources.files.push_back(folder / (name + ".yaml"));
  sources.overrides = overrides;
  return load_stage(sources, make_workload(), stage);
}

const DiffusionConfig& config_of(const LoadedStage& loaded) {
  return dynamic_cast<const DiffusionStage&>(*loaded.stage).own_config();
}

class ShippedDiffusion : public ::testing::TestWithParam<const char*> {};

TEST_P(ShippedDiffusion, FitsTheAutoencoderOfItsName) {
  const auto first = load_shipped("autoencoder", GetParam()), second = load_shipped("diffusion", GetParam());
  const auto& autoencoder = dynamic_cast<const AutoencoderStage&>(*first.stage).own_config().network;
  const DiffusionConfig& config = config_of(second);
  second.stage->check(second.config.config);
  config.check_latent(autoencoder);
  const TransformChain chain(training_chain(second.config.config.data.transforms));
  for (const auto size : chain.size_after({}))
    EXPECT_EQ(size % (autoencoder.size_divisor() * config.network.size_divisor()), 0) << size;
}

INSTANTIATE_TEST_SUITE_P(Table, ShippedDiffusion,
                         ::testing::Values("default", "tutorial_32g", "32g", "16g", "multigpu", "stable",
                                           "tiny", "phantom"),
                         [](const auto& which) { return std::string("config_") + which.param; });

TEST(DiffusionStage, HasTheParametersOfTheReference) {
  const auto parameters = [](const char* name) {
    const nn::DiffusionUnet network(config_of(load_shipped("diffusion", name)).network, c10::kMeta);
    int64_t count = 0;
    for (const at::Tensor& parameter : network->parameters()) count += parameter.numel();
    return count;
  };
  EXPECT_EQ(parameters("tutorial_32g"), 191'230'472);
  EXPECT_EQ(parameters("32g"), 666'065'936);
  EXPECT_EQ(parameters("multigpu"), 666'065'936);
  EXPECT_EQ(parameters("stable"), 115'062'920);
}

void expect_refused(const std::vector<std::string>& overrides, const std::string& words) {
  const auto loaded = load_shipped("diffusion", "tiny", overrides);
  try {
    loaded.stage->check(loaded.config.config);
    ADD_FAILURE() << words;
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    EXPECT_THAT(error.message(), HasSubstr(words));
  }
}

TEST(DiffusionStage, RefusesBeforeAnythingStartsWhatCannotBeTrainedOrSampled) {
  expect_refused({"model.sampling.num_inference_steps=1001"}, "1001 steps");
  expect_refused({"model.sampling.num_inference_steps=1"}, "begin at time 0");
  expect_refused({"model.noise.schedule=rectified_flow", "model.prediction_type=flow"}, "sampler=ddim");
  expect_refused({"model.noise.schedule=rectified_flow", "model.sampling.sampler=euler"},
                 "prediction_type=epsilon");
  expect_refused({"loss.times=logit_normal"}, "times=logit_normal");
  expect_refused({"model.noise.beta_end=0.0001"}, "beta_start");
  expect_refused({"data.transforms=[{RandSpatialCrop: {roi_size: [15, 16, 16]}}]"}, "15 voxels");
  expect_refused({"model.latents=kept"}, "random steps");
}

// A latent voxel would be the mean of two places that lie half of it apart.
TEST(DiffusionConfig, RefusesWindowsWhoseHalfIsNoWholeNumberOfLatentVoxels) {
  DiffusionConfig config;
  config.check_window({1, 1, 3}, 4);
  config.condition = DiffusionConfig::Condition::concat;
  config.check_window({2, 4, 6}, 4);
  EXPECT_THROW(config.check_window({2, 2, 3}, 4), Error);
}

TEST(DiffusionStage, HoldsUpToSixtyFourTrainingCasesBesideThePicturesOfInventedImages) {
  const auto cases = [](std::vector<std::string> overrides) -> int64_t {
    const auto loaded = load_shipped("diffusion", "phantom", overrides);
    const RunConfig& config = loaded.config.config;
    const Index index = loaded.stage->index(config);
    const auto reference = loaded.stage->reference(config, index, ValidationDepth::quick);
    return reference == nullptr ? 0 : reference->size();
  };
  EXPECT_EQ(cases({"data.phantom_cases=100"}), 64);
  EXPECT_EQ(cases({"data.phantom_cases=10"}), 8) << "all that training has";
  EXPECT_EQ(cases({"track.pictures_every=0"}), 0);
  EXPECT_EQ(cases({"model.condition=concat", "model.in_channels=8"}), 0);
}

TEST(DiffusionStage, TakesALowCountScanOrNothing) {
  const auto prediction = [](const char* name) {
    const auto loaded = load_shipped("diffusion", name);
    return loaded.stage->prediction(loaded.config.config);
  };
  EXPECT_TRUE(prediction("tutorial_32g").inputs.empty());
  ASSERT_EQ(prediction("32g").inputs.size(), 1U);
  EXPECT_EQ(prediction("32g").inputs.front().name, "low");
  EXPECT_EQ(prediction("32g").channels, std::vector<std::string>{"low"}) << "training's image";
  EXPECT_EQ(prediction("32g").volumes, std::vector<std::string>{"sample"});
}

}  // namespace
}  // namespace larmor::latent_diffusion
