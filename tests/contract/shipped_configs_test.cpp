// Every config that ships loads, and is planned on the cards that it is named after.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/hardware/hardware.h"
#include "larmor/plan/plan.h"

#include "tests/contract/trial_run.h"

namespace larmor::testing {
namespace {

using ::testing::HasSubstr;

namespace fs = std::filesystem;

LoadedStage load_shipped(const std::string& workload, const std::string& config,
                         const std::vector<std::string>& overrides = {}) {
  auto sources = tiny_sources(workload);
  const fs::path folder = sources.files.front().parent_path();
  sources.files = {folder / "default.yaml"};
  if (config != "default") sources.files.push_back(folder / (config + ".yaml"));
  sources.overrides = overrides;
  const Workload row = workload_named(workload);
  return load_stage(sources, row, row.stages().front());
}

std::string shown(const LoadedStage& loaded, const std::string& key) {
  for (const auto& origin : loaded.config.origins) {
    if (origin.key == key) return origin.value;
  }
  return "no such key";
}

/// A config, the machine that it is for, and what is planned there today.
struct Shipped {
  const char *workload, *config;
  int cards, gibibytes;  // of each; no cards: two cores
  const char* plan;      // "<ranks> x <micro-batch> x <accumulation>, <strategy>, <precision>"
  Recompute recompute = Recompute::none;
};

Hardware machine_of(const Shipped& shipped) {
  Json json{{"cores", shipped.cards == 0 ? 2 : 8 * shipped.cards}, {"memory_bytes", int64_t{256} << 30}};
  json["gpus"] = Json::array();
  for (int card = 0; card < shipped.cards; ++card)
    json["gpus"].push_back({{"memory_bytes", int64_t{shipped.gibibytes} << 30}, {"capability", {8, 0}}});
  return hardware_from_json(json);
}

/// Of images that the program invents, as no config brings its data along.
Plan plan_of(const Shipped& shipped) {
  const bool is_survival = shipped.workload == std::string("survival");
  std::vector<std::string> invented{"data.kind=cohort"};
  if (!is_survival)
    invented = {"data.kind=phantom", "data.modalities=null", "data.phantom_cases=200", "data.split.val=0.05"};
  const auto loaded = load_shipped(shipped.workload, shipped.config, invented);
  const auto& config = loaded.config.config;
  loaded.stage->check(config);
  const Index index = loaded.stage->index(config);
  return make_plan(machine_of(shipped), loaded.stage->demand(config, index), config);
}

void PrintTo(const Shipped& shipped, std::ostream* out) { *out << shipped.workload << '/' << shipped.config; }

class ShippedConfig : public ::testing::TestWithParam<Shipped> {};

TEST_P(ShippedConfig, IsPlannedOnTheCardsThatItIsNamedAfter) {
  const Shipped& shipped = GetParam();
  const Plan plan = plan_of(shipped);
  EXPECT_EQ(plan.device, shipped.cards == 0 ? DeviceKind::cpu : DeviceKind::cuda);
  EXPECT_EQ(text(plan.world_size(), " x ", plan.micro_batch, " x ", plan.accumulation, ", ",
                 to_text(plan.strategy), ", ", to_text(plan.precision)),
            shipped.plan);
  EXPECT_EQ(plan.recompute, shipped.recompute);
  EXPECT_FALSE(plan.offload_optimizer);
  EXPECT_LE(plan.memory.total(), plan.memory.available)
      << plan.memory.total() << " of " << plan.memory.available << " bytes\n"
      << join(plan.reasons, "\n");
}

constexpr Shipped all_shipped[] = {
    // The guide's batch of 12 fits on a card of 16 GB with everything kept.
    {"latent_diffusion", "16g", 1, 16, "1 x 12 x 4, single, bf16"},
    {"latent_diffusion", "32g", 1, 32, "1 x 1 x 1, single, bf16"},
    {"latent_diffusion", "tutorial_32g", 1, 32, "1 x 2 x 1, single, bf16"},
    {"latent_diffusion", "multigpu", 4, 24, "4 x 1 x 1, ddp, bf16"},
    {"latent_diffusion", "stable", 1, 16, "1 x 1 x 1, single, bf16"},
    {"latent_diffusion", "default", 1, 24, "1 x 2 x 1, single, bf16"},
    {"latent_diffusion", "brain", 0, 0, "1 x 2 x 1, single, fp32"},
    {"latent_diffusion", "phantom", 0, 0, "1 x 2 x 2, single, fp32"},
    {"latent_diffusion", "phantom_pairs", 0, 0, "1 x 2 x 2, single, fp32"},
    {"latent_diffusion", "small", 0, 0, "1 x 2 x 1, single, fp32"},
    {"latent_diffusion", "tiny", 0, 0, "1 x 2 x 2, single, fp32"},
    {"fast_ddpm", "default", 4, 24, "4 x 1 x 4, ddp, bf16"},
    {"fast_ddpm", "large", 8, 80, "8 x 1 x 8, ddp, bf16", Recompute::blocks},
    {"fast_ddpm", "debug", 1, 16, "1 x 1 x 1, single, bf16"},
    {"fast_ddpm", "brain_cpu", 0, 0, "1 x 2 x 1, single, fp32"},
    {"fast_ddpm", "small", 0, 0, "1 x 1 x 2, single, fp32"},
    {"fast_ddpm", "tiny", 0, 0, "1 x 1 x 4, single, fp32"},
    {"xray_to_ct", "default", 4, 80, "4 x 16 x 1, ddp, bf16"},
    {"xray_to_ct", "multi_view", 4, 80, "4 x 4 x 1, ddp, bf16"},
    {"xray_to_ct", "single_view", 4, 80, "4 x 4 x 1, ddp, bf16"},
    {"xray_to_ct", "runpod", 1, 24, "1 x 2 x 4, single, bf16"},
    {"xray_to_ct", "quick", 4, 80, "4 x 8 x 1, ddp, bf16"},
    {"xray_to_ct", "progressive", 4, 80, "4 x 4 x 1, ddp, bf16"},
    {"xray_to_ct", "reference", 4, 80, "4 x 4 x 1, ddp, bf16"},
    {"xray_to_ct", "phantom", 0, 0, "1 x 2 x 2, single, fp32"},
    {"xray_to_ct", "small", 0, 0, "1 x 4 x 1, single, fp32"},
    {"xray_to_ct", "tiny", 0, 0, "1 x 4 x 1, single, fp32"},
    {"survival", "default", 4, 24, "4 x 6 x 1, ddp, bf16"},
    {"survival", "cohort", 0, 0, "1 x 6 x 4, single, fp32"},
    {"survival", "small", 0, 0, "1 x 4 x 2, single, fp32"},
    {"survival", "tiny", 0, 0, "1 x 4 x 1, single, fp32"},
    {"xray_vqa", "default", 4, 24, "4 x 16 x 4, ddp, bf16"},
    {"xray_vqa", "fallback", 1, 16, "1 x 16 x 1, single, bf16"},
    {"xray_vqa", "synthetic", 0, 0, "1 x 16 x 2, single, fp32"},
    {"xray_vqa", "small", 0, 0, "1 x 16 x 1, single, fp32"},
    {"xray_vqa", "tiny", 0, 0, "1 x 8 x 1, single, fp32"},
};

INSTANTIATE_TEST_SUITE_P(Table, ShippedConfig, ::testing::ValuesIn(all_shipped), [](const auto& which) {
  return text(which.param.workload, "_", which.param.config);
});

TEST(ShippedConfigs, AreAllInTheTable) {
  std::set<std::string> here, there;
  for (const Shipped& shipped : all_shipped) here.insert(text(shipped.workload, "/", shipped.config));
  for (const auto& workload : make_workloads()) {
    for (const auto& file : fs::directory_iterator(tiny_sources(workload.name()).files.front().parent_path()))
      there.insert(text(workload.name(), "/", file.path().stem().string()));
  }
  EXPECT_EQ(here, there);
}

/// Its data are whoever's trains with it: no folder, list or file of ours, and no name of a patient, be it in
/// a split or in a pattern.
TEST(ShippedConfigs, NameNoDataOfOurs) {
  const std::set<std::string> paths{"data.folder", "data.list",       "data.cache_folder",
                                    "data.ct",     "data.vocabulary", "model.weights"};
  const auto names_somebody = [](const std::string& pattern) {
    return pattern.find_first_of("0123456789_") != std::string::npos;
  };
  for (const auto& workload : make_workloads()) {
    for (const auto& stage : workload.stages()) {
      const fs::path folder =
          tiny_sources(workload.name()).files.front().parent_path().parent_path().parent_path() / stage /
          "configs";
      for (const auto& file : fs::directory_iterator(folder)) {
        SCOPED_TRACE(file.path().string());
        auto sources = tiny_sources(workload.name());
        sources.files = {folder / "default.yaml", file.path()};
        sources.is_draft = true;
        const auto loaded = load_stage(sources, workload, stage);
        for (const auto& origin : loaded.config.origins) {
          const auto& value = origin.value;
          if (origin.key.starts_with("data.split.") && origin.key != "data.split.by") {
            EXPECT_EQ(value.find_first_not_of("0123456789."), std::string::npos)
                << origin.key << ": " << value;
          }
          if (paths.contains(origin.key)) {
            EXPECT_TRUE(value.empty() || value == "auto" || value == "''" || value == "\"\"")
                << origin.key << ": " << value;
          }
          if (origin.key == "data.include" || origin.key == "data.exclude") {
            EXPECT_FALSE(names_somebody(value)) << origin.key << ": " << value;
          }
          EXPECT_FALSE(value.starts_with('/') || value.find(": /") != std::string::npos) << origin.key;
        }
      }
    }
  }
}

/// MONAI's AutoencoderKL takes a number, or one for each level, and refuses a list of one number; so does its
/// ResNet with the first convolution.
TEST(ModelConfig, IsShownAsMonaisConstructorsTakeIt) {
  EXPECT_EQ(shown(load_shipped("latent_diffusion", "tiny"), "model.num_res_blocks"), "[1, 1]");
  EXPECT_EQ(shown(load_shipped("latent_diffusion", "brain"), "model.num_res_blocks"), "[1, 1, 1]");
  EXPECT_EQ(shown(load_shipped("survival", "cohort"), "model.conv1_t_size"), "[5, 5, 5]");
  EXPECT_EQ(shown(load_shipped("survival", "cohort"), "model.conv1_t_stride"), "[2, 2, 2]");
  const auto shown_for = [](const std::string& value) {
    const auto loaded = load_shipped("latent_diffusion", "tiny", {"model.num_res_blocks=" + value});
    loaded.stage->check(loaded.config.config);
    return shown(loaded, "model.num_res_blocks");
  };
  EXPECT_EQ(shown_for("[2]"), "[2, 2]") << "the old form is read";
  EXPECT_EQ(shown_for("[2, 2]"), "[2, 2]");
  EXPECT_EQ(shown_for("[1, 2]"), "[1, 2]");
  EXPECT_THROW(shown_for("[1, 2, 2]"), Error);
  EXPECT_THROW(shown_for("[2, 2, 2]"), Error);
}

TEST(ModelConfig, IsTheSameInEitherForm) {
  const auto one = load_shipped("latent_diffusion", "tiny", {"model.num_res_blocks=[2]"});
  const auto each = load_shipped("latent_diffusion", "tiny", {"model.num_res_blocks=[2, 2]"});
  EXPECT_EQ(one.config.sha256(), each.config.sha256());
  EXPECT_TRUE(one.config.differing_keys(each.config).empty());
}

TEST(ModelConfig, OfOneNumberFollowsTheLevels) {
  const auto loaded = load_shipped(
      "latent_diffusion", "default",
      {"model.channels=[32, 32, 64, 64]", "model.attention_levels=[false, false, false, false]"});
  loaded.stage->check(loaded.config.config);
  EXPECT_EQ(shown(loaded, "model.num_res_blocks"), "[2, 2, 2, 2]");
}

}  // namespace
}  // namespace larmor::testing
