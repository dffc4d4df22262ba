#include "workloads/xray_to_ct/stage/cascade_stage.h"

#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/config/load.h"
#include "larmor/run/loaded_stage.h"

#include "workloads/xray_to_ct/data/pair_dataset.h"
#include "workloads/xray_to_ct/workload.h"

namespace larmor::xray_to_ct {
namespace {

using ::testing::HasSubstr;

LoadedStage loaded(const std::string& stage, const std::vector<std::string>& overrides = {},
                   const std::string& kind = "phantom", int64_t size = 16) {
  Sources sources;
  sources.overrides = {"data.kind=" + kind, "model.volume_size=" + std::to_string(size),
                       "model.channels=[4, 8]", "data.radiograph_size=16"};
  if (kind == "phantom")
    sources.overrides.insert(sources.overrides.end(),
                             {"data.phantom_cases=8", "data.phantom_size=[16, 16, 16]"});
  sources.overrides.insert(sources.overrides.end(), overrides.begin(), overrides.end());
  return load_stage(sources, make_workload(), stage);
}

TEST(CascadeStage, IsPlannedBeforeTheStageBeforeHasARun) {
  const auto third = loaded("stage3");
  const auto& config = third.config.config;
  const Demand demand = third.stage->demand(config, third.stage->index(config));
  EXPECT_GT(demand.frozen_bytes, 4 * 10'000'000) << "the networks of both stages before";
  EXPECT_GT(demand.activation_bytes_per_sample, 0);
}

TEST(CascadeStage, IsNotTrainedBeforeTheStageBeforeHasARun) {
  const auto second = loaded("stage2");
  try {
    second.stage->check_start({});
    ADD_FAILURE() << "there is no stage1";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    EXPECT_THAT(error.message(), HasSubstr("from.stage1"));
  }
}

TEST(CascadeStage, TakesAndAsksForTheViewsOfItsModel) {
  const auto both = loaded("stage1"), one = loaded("stage1", {"model.views=[pa]"});
  const auto inputs_of = [](const LoadedStage& stage) {
    std::vector<std::string> names;
    for (const auto& input : stage.stage->prediction(stage.config.config).inputs) names.push_back(input.name);
    return names;
  };
  EXPECT_EQ(inputs_of(both), (std::vector<std::string>{"pa", "lateral"}));
  EXPECT_EQ(inputs_of(one), (std::vector<std::string>{"pa"}));
  const auto& config = one.config.config;
  const auto dataset = one.stage->dataset(config, one.stage->index(config), Split::train);
  const Sample sample = dataset->get({.seed = 0, .epoch = 0, .example = 0});
  EXPECT_EQ(sample.at(pair::radiographs).size(0), 1);
  EXPECT_NO_THROW(one.stage->check_example(sample, Split::train));
  EXPECT_THROW(both.stage->check_example(sample, Split::train), Error);
}

TEST(CascadeStage, RefusesVolumesOfAnotherSize) {
  const auto stage = loaded("stage1"), larger = loaded("stage1", {}, "phantom", 20);
  const auto& config = larger.config.config;
  const auto dataset = larger.stage->dataset(config, larger.stage->index(config), Split::train);
  EXPECT_THROW(stage.stage->check_example(dataset->get({.seed = 0, .epoch = 0, .example = 0}), Split::train),
               Error);
}

TEST(CascadeStage, RefusesDataThatAreNoPairs) {
  const auto stage = loaded("stage1", {"data.folder=somewhere"}, "nifti");
  EXPECT_THROW(stage.stage->check(stage.config.config), Error);
}

}  // namespace
}  // namespace larmor::xray_to_ct
