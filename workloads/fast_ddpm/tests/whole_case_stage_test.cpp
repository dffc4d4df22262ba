#include <string>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/device/memory/memory_meter.h"
#include "larmor/run/loaded_stage.h"

#include "workloads/fast_ddpm/denoiser/denoiser_stage.h"
#include "workloads/fast_ddpm/denoiser/denoiser_task.h"
#include "workloads/fast_ddpm/workload.h"

namespace larmor::fast_ddpm {
namespace {

using ::testing::HasSubstr;

/// Invented heads of so many voxels, crops of 16.
LoadedStage phantom_stage(const std::string& size, std::vector<std::string> overrides) {
  overrides.insert(overrides.end(),
                   {"data.kind=phantom", "data.phantom_size=" + size, "model.ch=4", "model.ch_mult=[1,2]",
                    "model.num_res_blocks=1", "model.dropout=0", "model.sampling.timesteps=2",
                    "data.transforms=[{RandSpatialCrop: {roi_size: [16,16,16]}}]"});
  return load_stage({.files = {}, .environment = {}, .overrides = overrides}, make_workload(), "denoiser");
}

Demand demand_of(const LoadedStage& loaded) {
  const auto& config = loaded.config.config;
  return loaded.stage->demand(config, loaded.stage->index(config));
}

TEST(DenoiserStage, CountsTheWindowsOfItsValidation) {
  const auto off = demand_of(phantom_stage("[64,48,48]", {}));
  EXPECT_EQ(off.validation_window_bytes + off.validation_case_bytes, 0);
  const auto on = demand_of(phantom_stage("[64,48,48]", {"validation.roi_size=[16,16,16]"}));
  constexpr int64_t channel_bytes = 4L * 64 * 48 * 48;
  EXPECT_GT(on.validation_window_bytes, 0);
  EXPECT_GE(on.validation_case_bytes, 10 * channel_bytes)
      << "image and what the network sees (4 channels each), sum and weights";
  EXPECT_EQ(on.activation_bytes_per_sample, off.activation_bytes_per_sample);
  const auto larger = demand_of(phantom_stage("[64,48,48]", {"validation.roi_size=[32,32,32]"}));
  EXPECT_GT(larger.validation_window_bytes, 6 * on.validation_window_bytes);
}

/// The allocator counts what the same judgement really holds.
TEST(DenoiserStage, CountsWhatJudgingACaseHolds) {
  start_memory_meter();
  const auto loaded = phantom_stage("[48,48,32]", {"validation.roi_size=[16,16,16]"});
  const auto demand = demand_of(loaded);
  const auto counted = static_cast<double>(demand.validation_window_bytes + demand.validation_case_bytes);
  const auto task = loaded.stage->task(loaded.config.config, {});
  const at::NoGradGuard no_grad;
  task->objectives().front().network->eval();
  const auto before = metered_memory().held;
  reset_metered_peak();
  dynamic_cast<DenoiserTask&>(*task).count_judgement(at::zeros({1, 4, 48, 48, 32}));
  const auto held = static_cast<double>(metered_memory().peak - before);
  EXPECT_NEAR(held / counted, 1, 0.05);
}

TEST(DenoiserStage, RefusesWindowsThatItsNetworkCannotHalve) {
  const auto loaded = phantom_stage("[32,32,32]", {"validation.roi_size=[16,17,16]"});
  try {
    loaded.stage->check(loaded.config.config);
    FAIL() << "taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    EXPECT_THAT(error.message(), HasSubstr("validation.roi_size says 17 voxels"));
  }
}

std::vector<int64_t> size_of_first(const Dataset& cases) {
  return cases.get({.seed = 1, .epoch = 0, .example = 0}).at("image").sizes().vec();
}

TEST(DenoiserStage, JudgesWholeCasesOfAnySizeInWindows) {
  const auto loaded = phantom_stage("[17,20,18]", {"validation.roi_size=[16,16,16]"});
  const auto& config = loaded.config.config;
  const auto index = loaded.stage->index(config);
  const auto cases = loaded.stage->dataset(config, index, Split::val);
  const std::vector<int64_t> whole{4, 17, 20, 18};
  EXPECT_EQ(size_of_first(*cases), whole);
  EXPECT_EQ(size_of_first(*loaded.stage->reference(config, index, ValidationDepth::full)), whole)
      << "the linear fit is of what is judged";
  const auto sample = cases->get({.seed = 1, .epoch = 0, .example = 0});
  loaded.stage->check_example(sample, Split::val);
  EXPECT_THROW(loaded.stage->check_example(sample, Split::train), Error) << "crops have to divide";
  EXPECT_EQ(size_of_first(*loaded.stage->dataset(config, index, Split::train)),
            (std::vector<int64_t>{4, 16, 16, 16}));
}

TEST(DenoiserStage, IsTheSameRunWithoutWindowsAsBefore) {
  const auto silent = phantom_stage("[32,32,32]", {}),
             off = phantom_stage("[32,32,32]", {"validation.roi_size=[]"}),
             on = phantom_stage("[32,32,32]", {"validation.roi_size=[16,16,16]"});
  EXPECT_EQ(off.config.sha256(), silent.config.sha256());
  EXPECT_NE(on.config.sha256(), silent.config.sha256());
  const auto& config = silent.config.config;
  const auto index = silent.stage->index(config);
  const std::vector<int64_t> crop{4, 16, 16, 16};
  EXPECT_EQ(size_of_first(*silent.stage->dataset(config, index, Split::val)), crop);
  EXPECT_EQ(size_of_first(*silent.stage->reference(config, index, ValidationDepth::full)), crop);
}

}  // namespace
}  // namespace larmor::fast_ddpm
