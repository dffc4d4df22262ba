// What every stage of every workload keeps: its config is its own, and nothing changes it once it is loaded.
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/comm/communicator.h"
#include "larmor/config/load.h"
#include "larmor/device/module_state.h"
#include "larmor/judge/checked_dataset.h"
#include "larmor/judge/validation.h"
#include "larmor/run/earlier/earlier_run.h"
#include "larmor/task/networks.h"
#include "larmor/task/undrawn_task.h"

#include "tests/contract/trial_run.h"

namespace larmor::testing {
namespace {

using ::testing::HasSubstr;

/// Of the keys of the config that are a stage's alone, as YAML flow text.
using OwnValues = std::map<std::string, std::string>;

OwnValues own_values(const LoadedConfig& config) {
  OwnValues values;
  for (const auto& origin : config.origins) {
    if (origin.key.starts_with("model.") || origin.key.starts_with("loss."))
      values[origin.key] = origin.value;
  }
  return values;
}

/// A line a parameter, of its name and its values' sum.
std::string weights_of(Task& task) {
  std::string lines;
  for (const auto& objective : task.objectives()) {
    for (const auto& parameter : objective.network->named_parameters()) {
      const auto sum = parameter.value().to(at::kDouble).abs().sum().item<double>();
      lines += text(objective.name, " ", parameter.key(), " ", sum, "\n");
    }
  }
  return lines;
}

/// Everything that a run takes from a stage, in one text.
std::string what_it_gives(const Stage& stage, const RunConfig& config) {
  const Index index = stage.index(config);
  const Demand demand = stage.demand(config, index);
  std::string all = text(index.sha256(), "\n", demand.parameters, " ", demand.activation_bytes_per_sample,
                         "\n", stage.prediction(config).transforms.dump(), "\n");
  for (const auto& input : stage.prediction(config).inputs) all += text(input.name, " ");
  const auto dataset = stage.dataset(config, index, Split::train);
  all += text(dataset->size(), " ", stage.order(config, index, *dataset).at(0).example, "\n");
  return all + weights_of(*stage.task(config, index));
}

class EveryStage : public ::testing::TestWithParam<StageName> {
 protected:
  std::unique_ptr<Stage> made() const { return workload_.stage(GetParam().stage); }

  LoadedConfig read(const Sources& sources, Stage& stage) const {
    const auto& name = GetParam().stage;
    auto loaded = load_config(sources, workload_.name(), name, fields_of(workload_, name, stage));
    stage.build_on(earlier_of_config(workload_, loaded.config));
    return loaded;
  }

  /// What a config without a word leaves as it is.
  OwnValues values_in(Stage& stage) const { return own_values(read({}, stage)); }

  const Workload workload_ = workload_named(GetParam().workload);
  const Sources tiny_ = tiny_sources(GetParam());
};

TEST_P(EveryStage, DeclaresTheGroupsThatItsTaskLearnsIn) {
  const auto stage = made();
  const auto config = read(tiny_, *stage).config;
  const auto task = stage->task(config, stage->index(config));
  EXPECT_EQ(stage->groups(config), objective_groups(*task, config));
}

TEST_P(EveryStage, KeepsWhatItHasReadWhenItsFieldsAreAskedForAgain) {
  const auto stage = made();
  const auto loaded = read(tiny_, *stage);
  const auto before = what_it_gives(*stage, loaded.config);
  stage->fields();
  config_schema(stage->fields());
  EXPECT_EQ(what_it_gives(*stage, loaded.config), before);
  EXPECT_EQ(values_in(*stage), own_values(loaded));
  const auto again = read(tiny_, *stage);
  EXPECT_EQ(again.sha256(), loaded.sha256());
  EXPECT_EQ(again.to_yaml(/*with_origins=*/false), loaded.to_yaml(/*with_origins=*/false));
}

TEST_P(EveryStage, SharesNoValueWithAnotherOfItsName) {
  const auto stage = made(), other = made();
  const auto defaults = values_in(*other);
  read(tiny_, *stage);
  EXPECT_NE(values_in(*stage), defaults) << "tiny.yaml says nothing of this stage's own";
  EXPECT_EQ(values_in(*other), defaults);
  EXPECT_EQ(values_in(*made()), defaults);
}

TEST_P(EveryStage, GivesTasksThatShareNothing) {
  const auto loaded = load_stage(tiny_, workload_, GetParam().stage);
  const auto& config = loaded.config.config;
  const auto index = loaded.stage->index(config);
  const auto one = loaded.stage->task(config, index), other = loaded.stage->task(config, index);
  const auto weights = weights_of(*other);
  ASSERT_EQ(weights_of(*one), weights);
  const at::NoGradGuard no_grad;
  for (const auto& objective : one->objectives()) {
    for (const auto& parameter : objective.network->parameters()) parameter.zero_();
  }
  EXPECT_NE(weights_of(*one), weights);
  EXPECT_EQ(weights_of(*other), weights);
}

/// What a checkpoint replaces is not drawn, and what none replaces is.
TEST_P(EveryStage, IsTheSameDrawnAndLoadedOrLoadedAlone) {
  const auto loaded = load_stage(tiny_, workload_, GetParam().stage);
  const auto& config = loaded.config.config;
  const auto index = loaded.stage->index(config);
  const auto drawn = loaded.stage->task(config, index), undrawn = undrawn_task(*loaded.stage, config, index);
  ASSERT_NE(weights_of(*undrawn), weights_of(*drawn)) << "all weights were drawn";
  for (std::size_t i = 0; i < drawn->objectives().size(); ++i) {
    auto weights = state_dict(*drawn->objectives()[i].network);
    auto& network = *undrawn->objectives()[i].network;
    load_state_dict(network, weights);
    weights.erase(weights.begin());
    EXPECT_THROW(load_state_dict(network, weights), Error);
  }
  const auto networks = networks_of(*drawn), others = networks_of(*undrawn);
  ASSERT_EQ(others.size(), networks.size());
  for (std::size_t i = 0; i < networks.size(); ++i) {
    const auto of_other = state_dict(*others[i]);
    for (const auto& [name, tensor] : state_dict(*networks[i]))
      EXPECT_TRUE(tensor.equal(of_other.at(name))) << "network " << i << ", " << name;
  }
}

/// Figures have intervals over patients, of which the index knows who they are.
TEST_P(EveryStage, SaysWhoseEachExampleIs) {
  const auto loaded = load_stage(tiny_, workload_, GetParam().stage);
  const auto& config = loaded.config.config;
  auto index = loaded.stage->index(config);
  std::map<std::string, std::string> patient_of;
  for (std::size_t i = 0; i < index.cases.size(); ++i) {
    index.cases[i].patient = text("patient ", i % 3);
    patient_of[index.cases[i].name()] = index.cases[i].patient;
  }
  for (const Split split : {Split::train, Split::val}) {
    const auto cases = checked_dataset(*loaded.stage, config, index, split);
    ASSERT_GT(cases->size(), 0);
    for (int64_t example = 0; example < cases->size(); ++example)
      EXPECT_EQ(cases->patient(example), patient_of.at(cases->name(example))) << cases->name(example);
  }
}

/// Somebody who is shown a figure knows how far it can be trusted, or why that cannot be said.
TEST_P(EveryStage, GivesEachFigureOfAJudgementItsIntervalOrTheReasonWhyItHasNone) {
  const auto loaded = load_stage(tiny_, workload_, GetParam().stage);
  const auto& config = loaded.config.config;
  const Index index = loaded.stage->index(config);
  const auto task = loaded.stage->task(config, index);
  const auto cases = checked_dataset(*loaded.stage, config, index, Split::val);
  const auto reference = loaded.stage->reference(config, index, ValidationDepth::full);
  const auto result =
      validate(*task, *cases, *make_solo(), {.depth = ValidationDepth::full, .reference = reference.get()});
  ASSERT_FALSE(result.metrics.empty());
  for (const auto& [name, metric] : result.metrics) {
    const bool is_number = std::isfinite(metric.mean);
    EXPECT_NE(is_number, !metric.undefined.empty()) << name;
    EXPECT_TRUE(!is_number || metric.interval.has_value() != !metric.no_interval.empty()) << name;
  }
}

TEST_P(EveryStage, IsNamedWhereAnUnknownOneIsAskedFor) {
  try {
    workload_.stage(GetParam().stage + "_of_nobody");
    ADD_FAILURE() << "a stage that nobody wrote";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    EXPECT_THAT(error.message(), HasSubstr(GetParam().stage + "_of_nobody"));
    EXPECT_THAT(error.hint(), HasSubstr(GetParam().stage));
  }
}

INSTANTIATE_TEST_SUITE_P(Table, EveryStage, ::testing::ValuesIn(stage_names()), name_of);

}  // namespace
}  // namespace larmor::testing
