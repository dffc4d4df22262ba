#include <string>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/device/memory/memory_meter.h"
#include "larmor/run/loaded_stage.h"

#include "workloads/latent_diffusion/autoencoder/autoencoder_stage.h"
#include "workloads/latent_diffusion/autoencoder/autoencoder_task.h"
#include "workloads/latent_diffusion/workload.h"

namespace larmor::latent_diffusion {
namespace {

using ::testing::HasSubstr;

LoadedStage phantom_stage(const std::string& size, std::vector<std::string> overrides) {
  overrides.insert(overrides.end(), {"data.kind=phantom", "data.phantom_size=" + size,
                                     "model.channels=[8,16]", "model.num_res_blocks=[1]",
                                     "model.attention_levels=[false,false]", "model.norm_num_groups=4",
                                     "data.transforms=[{RandSpatialCrop: {roi_size: [32,32,32]}}]"});
  return load_stage({.files = {}, .environment = {}, .overrides = overrides}, make_workload(), "autoencoder");
}

Demand demand_of(const LoadedStage& loaded) {
  const auto& config = loaded.config.config;
  return loaded.stage->demand(config, loaded.stage->index(config));
}

TEST(AutoencoderStage, CountsTheWindowsOfItsValidation) {
  const auto off = demand_of(phantom_stage("[128,96,96]", {}));
  EXPECT_EQ(off.validation_window_bytes + off.validation_case_bytes, 0);
  const auto on = demand_of(phantom_stage("[128,96,96]", {"validation.roi_size=[32,32,32]"}));
  constexpr int64_t case_bytes = 4L * 128 * 96 * 96;
  EXPECT_GT(on.validation_window_bytes, 0);
  EXPECT_LT(on.validation_window_bytes, on.activation_bytes_per_sample) << "nothing is kept for backward";
  EXPECT_GE(on.validation_case_bytes, 4 * case_bytes) << "image, sum, weights and the reconstruction";
  EXPECT_EQ(on.activation_bytes_per_sample, off.activation_bytes_per_sample);
  const auto larger = demand_of(phantom_stage("[128,96,96]", {"validation.roi_size=[64,64,64]"}));
  EXPECT_GT(larger.validation_window_bytes, 6 * on.validation_window_bytes);
}

/// The allocator counts what the same judgement really holds.
TEST(AutoencoderStage, CountsWhatJudgingACaseHolds) {
  start_memory_meter();
  const auto loaded = phantom_stage("[64,64,48]", {"validation.roi_size=[32,32,32]"});
  const auto demand = demand_of(loaded);
  const auto counted = static_cast<double>(demand.validation_window_bytes + demand.validation_case_bytes);
  const auto task = loaded.stage->task(loaded.config.config, {});
  const torch::NoGradGuard no_grad;
  task->objectives().front().network->eval();
  const auto before = metered_memory().held;
  reset_metered_peak();
  dynamic_cast<AutoencoderTask&>(*task).judge(at::zeros({1, 1, 64, 64, 48}));
  const auto held = static_cast<double>(metered_memory().peak - before);
  EXPECT_NEAR(held / counted, 1, 0.05);
}

TEST(AutoencoderStage, RefusesWindowsThatItsNetworkCannotHalve) {
  const auto loaded = phantom_stage("[128,96,96]", {"validation.roi_size=[32,33,32]"});
  try {
    loaded.stage->check(loaded.config.config);
    FAIL() << "taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    EXPECT_THAT(error.message(), HasSubstr("validation.roi_size says 33 voxels"));
  }
}

TEST(AutoencoderStage, JudgesWholeCasesOfAnySizeInWindows) {
  const auto loaded = phantom_stage("[33,32,34]", {"validation.roi_size=[32,32,32]"});
  const auto& config = loaded.config.config;
  const auto index = loaded.stage->index(config);
  const auto sample =
      loaded.stage->dataset(config, index, Split::val)->get({.seed = 1, .epoch = 0, .example = 0});
  EXPECT_EQ(sample.at("image").sizes().vec(), (std::vector<int64_t>{1, 33, 32, 34}));
  loaded.stage->check_example(sample, Split::val);
  EXPECT_THROW(loaded.stage->check_example(sample, Split::train), Error) << "crops have to divide";
}

}  // namespace
}  // namespace larmor::latent_diffusion
