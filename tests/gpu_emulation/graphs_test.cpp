// Micro-batches that emulated cards launch as graphs give what they give kernel by kernel, and ask the host
// for less.
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gpu_emulation/support/emulated_program.h"

namespace larmor::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;
using Counts = std::map<std::string, int64_t>;

struct Stage {
  std::string name;
  Words words;  // workload, and the stage where it has several
};
void PrintTo(const Stage& stage, std::ostream* out) { *out << stage.name; }

const std::vector<Stage> stages_with_graphs{
    {"autoencoder", {"latent_diffusion", "loss.adversarial_start=1"}},
    {"fast_ddpm", {"fast_ddpm"}},
    {"cascade", {"xray_to_ct", "--stage", "stage1"}},
    {"vqa", {"xray_vqa"}},
};

class RunsWithGraphs : public ::testing::TestWithParam<Stage> {
 protected:
  Finished trained(const Words& stage, const std::string& graphs, int steps, const Words& more,
                   const std::map<std::string, std::string>& environment = {}) const {
    return trained_as(graphs + std::to_string(steps), stage, graphs, steps, more, environment);
  }
  /// A run of that name, or the rest of one.
  Finished trained_as(const std::string& name, const Words& stage, const std::string& graphs, int steps,
                      const Words& more, const std::map<std::string, std::string>& environment = {}) const {
    Words words{"train",
                stage.front(),
                "-c",
                "tiny",
                "--no-color",
                "--device",
                "cuda",
                "--steps",
                std::to_string(steps),
                "run.deterministic=true",
                "plan.probe=false",
                "run.name=" + name,
                "train.graphs=" + graphs,
                "checkpoint.every=100st"};
    words.insert(words.end(), stage.begin() + 1, stage.end());
    words.insert(words.end(), more.begin(), more.end());
    Finished end = run_on_gpus(words, scratch_.path(), {.environment = environment});
    EXPECT_EQ(end.status, 0) << end.out << end.err;
    return end;
  }
  static Words warnings_of(const Finished& end) {
    Words warnings;
    for (const Json& event : events_of(end.run_folder(), "warning"))
      warnings.push_back(event.at("text").get<std::string>());
    return warnings;
  }
  void expect_equal_values(const Words& more, int steps = 8) const {
    const auto with = trained(GetParam().words, "auto", steps, more);
    const auto without = trained(GetParam().words, "none", steps, more);
    EXPECT_EQ(training_values(with.run_folder()), training_values(without.run_folder()));
    EXPECT_THAT(warnings_of(with), warnings_of(without));
  }
  /// What so many steps asked of the cards, with all that goes before and after them.
  Counts counted(int steps) const {
    const ScratchFolder counters;
    trained(GetParam().words, "auto", steps, {"--ranks", "1", "train.precision=bf16"},
            {{"EMULATED_COUNTERS", counters.path().string()}});
    Counts sums;
    for (const auto& file : std::filesystem::directory_iterator(counters.path())) {
      const Json counts = parse_json(read_text(file.path()), file.path().string());
      for (const auto& [name, count] : counts.items()) sums[name] += count.get<int64_t>();
    }
    return sums;
  }
  ScratchFolder scratch_;
};

INSTANTIATE_TEST_SUITE_P(Of, RunsWithGraphs, ::testing::ValuesIn(stages_with_graphs),
                         [](const auto& info) { return info.param.name; });

TEST_P(RunsWithGraphs, GiveTheValuesOfRunsWithout) {
  expect_equal_values({"--ranks", "1", "train.precision=fp64"});
}

TEST_P(RunsWithGraphs, GiveThemOnTwoCardsWithSeveralMicroBatchesAStep) {
  expect_equal_values({"--ranks", "2", "train.precision=fp32", "train.accumulation=2"});
}

TEST_P(RunsWithGraphs, GiveThemUnderALossScale) {
  expect_equal_values({"--ranks", "1", "train.precision=fp16"});
}

// From the eleventh step on all that is to be recorded has been. Kernel by kernel a step takes 690 to 2395
// (workloads_test).
TEST_P(RunsWithGraphs, LaunchAMicroBatchAsOneAndWaitOnceAStep) {
  const Counts few = counted(11), more = counted(15);
  const auto in_four_steps = [&](const std::string& name) { return more.at(name) - few.at(name); };
  EXPECT_GE(in_four_steps("graph_launches"), 4);
  EXPECT_EQ(in_four_steps("host_waits"), 4);
  EXPECT_LT(in_four_steps("kernels"), 4 * 120);
  EXPECT_EQ(more.at("pageable_asynchronous_copies"), 0);
  RecordProperty("kernels_per_step", std::to_string(static_cast<double>(in_four_steps("kernels")) / 4));
}

class RunsWithoutGraphs : public RunsWithGraphs {};

INSTANTIATE_TEST_SUITE_P(Of, RunsWithoutGraphs, ::testing::Values(Stage{"survival", {"survival"}}),
                         [](const auto& info) { return info.param.name; });

TEST_P(RunsWithoutGraphs, SayWhyAndTrainAsEver) {
  const auto with = trained(GetParam().words, "auto", 4, {"--ranks", "1", "train.precision=fp64"});
  const auto without = trained(GetParam().words, "none", 4, {"--ranks", "1", "train.precision=fp64"});
  EXPECT_EQ(training_values(with.run_folder()), training_values(without.run_folder()));
  EXPECT_THAT(warnings_of(with), Contains(HasSubstr("the loss is one of the whole batch")));
}

// As when a person resumes it: whether there are graphs defines no run.
TEST_F(RunsWithGraphs, MayBeResumedWithout) {
  const Words stage{"fast_ddpm"};
  const Words exact{"--ranks", "1", "train.precision=fp64"};
  trained_as("one", stage, "auto", 6, exact);
  const auto resumed = trained_as("one", stage, "none", 8, exact);
  const auto straight = trained(stage, "none", 8, exact);
  EXPECT_EQ(training_values(resumed.run_folder()), training_values(straight.run_folder()));
}

}  // namespace
}  // namespace larmor::testing
