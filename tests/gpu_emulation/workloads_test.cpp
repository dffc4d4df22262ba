// Every workload trains on emulated cards as on CPUs, goes on elsewhere, and asks of a card what a step
// should.
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gpu_emulation/support/emulated_program.h"

namespace larmor::testing {
namespace {

using Words = std::vector<std::string>;

Words training(const std::string& workload, const std::string& device, int steps, const Words& more) {
  Words words{"train",
              workload,
              "-c",
              "tiny",
              "--no-color",
              "--device",
              device,
              "--steps",
              std::to_string(steps),
              "run.deterministic=true",
              "plan.probe=false"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// What the processes of a run together asked of their cards.
std::map<std::string, int64_t> counters_in(const std::filesystem::path& folder) {
  std::map<std::string, int64_t> sums;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const Json counts = parse_json(read_text(file.path()), file.path().string());
    for (const auto& [name, count] : counts.items()) sums[name] += count.get<int64_t>();
  }
  return sums;
}

class Workloads : public ::testing::TestWithParam<std::string> {
 protected:
  Finished on_gpus(const Words& words, const std::map<std::string, std::string>& environment = {}) const {
    Finished end = run_on_gpus(words, scratch_.path(), {.environment = environment});
    EXPECT_EQ(end.status, 0) << end.out << end.err;
    return end;
  }
  Finished on_cpus(const Words& words) const {
    Finished end = larmor_program(words, {.folder = scratch_.path()});
    EXPECT_EQ(end.status, 0) << end.out << end.err;
    return end;
  }
  /// What so many steps on so many cards asked of these, with all that goes before and after them.
  std::map<std::string, int64_t> counted(int steps, int ranks) const {
    const ScratchFolder counters;
    on_gpus(training(GetParam(), "cuda", steps,
                     {"--ranks", std::to_string(ranks), "checkpoint.every=100st", "train.precision=bf16"}),
            {{"EMULATED_COUNTERS", counters.path().string()}});
    return counters_in(counters.path());
  }
  ScratchFolder scratch_;
};

INSTANTIATE_TEST_SUITE_P(Of, Workloads,
                         ::testing::Values("latent_diffusion", "survival", "fast_ddpm", "xray_to_ct",
                                           "xray_vqa"),
                         [](const auto& info) { return info.param; });

/// Whether attention is one fused kernel on CPUs: on an emulated card it is computed in parts, which round
/// otherwise.
bool has_fused_attention(const std::string& workload) {
  return workload == "xray_to_ct" || workload == "xray_vqa";
}

TEST_P(Workloads, GiveTheValuesOfCpusOnTwoCards) {
  const Words exact{"--ranks", "2", "train.precision=fp64"};
  const auto gpus = on_gpus(training(GetParam(), "cuda", 4, exact));
  const auto cpus = on_cpus(training(GetParam(), "cpu", 4, exact));
  const auto values = training_values(gpus.run_folder()), expected = training_values(cpus.run_folder());
  if (!has_fused_attention(GetParam())) {
    EXPECT_EQ(values, expected);
    return;
  }
  ASSERT_EQ(values.size(), expected.size());
  for (size_t step = 0; step < expected.size(); ++step) {
    for (const auto& [name, value] : expected[step])
      EXPECT_NEAR(values[step].at(name), value, 1e-9 * (1 + std::abs(value)))
          << name << " of step " << step + 1;
  }
}

TEST_P(Workloads, TrainInSixteenBits) {
  for (const std::string precision : {"bf16", "fp16"}) {
    const auto end =
        on_gpus(training(GetParam(), "cuda", 2, {"--ranks", "1", "train.precision=" + precision}));
    EXPECT_EQ(training_values(end.run_folder()).size(), 2U);
  }
}

// As users start them: before the first step one is measured.
TEST_P(Workloads, AreMeasuredBeforeTheyTrain) {
  const auto end = on_gpus(
      {"train", GetParam(), "-c", "tiny", "--no-color", "--device", "cuda", "--ranks", "1", "--steps", "1"});
  const auto file = std::filesystem::path(end.run_folder()) / "plan.json";
  const Json plan = parse_json(read_text(file), file.string());
  EXPECT_GT(plan.at("memory").at("measured").get<int64_t>(), 0);
}

TEST_P(Workloads, GoOnFromCpusOnTwoCardsAndFromThereOnOne) {
  const Words saved{"train.precision=fp64", "checkpoint.every=2st", "run.name=wanderer"};
  const auto with = [&](const Words& more) {
    Words words = saved;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  on_cpus(training(GetParam(), "cpu", 2, with({"--ranks", "2"})));
  on_gpus(training(GetParam(), "cuda", 4, with({"--ranks", "2", "parallel.strategy=zero3"})));
  const auto end =
      on_gpus(training(GetParam(), "cuda", 6, with({"--ranks", "1", "parallel.strategy=single"})));
  const auto moved = training_values(end.run_folder());
  ASSERT_EQ(moved.size(), 6U);

  const auto stayed =
      on_cpus(training(GetParam(), "cpu", 6, {"train.precision=fp64", "--ranks", "2", "run.name=settler"}));
  const auto expected = training_values(stayed.run_folder());
  for (size_t step = 0; step < expected.size(); ++step) {
    for (const auto& [name, value] : expected[step]) {
      // Sums over one rank round in another order than sums over two.
      EXPECT_NEAR(moved[step].at(name), value, 1e-9 * (1 + std::abs(value)))
          << name << " of step " << step + 1;
    }
  }
}

TEST_P(Workloads, AskACardForNoMemoryAndNoPageableCopyInAStep) {
  const auto few = counted(4, 1), more = counted(8, 1);
  EXPECT_GT(more.at("kernels"), few.at("kernels"));
  EXPECT_EQ(more.at("allocations"), few.at("allocations"));
  EXPECT_EQ(more.at("pageable_asynchronous_copies"), 0);
  EXPECT_EQ(more.at("host_waits") - few.at("host_waits"), 4) << "one a step";
  EXPECT_GE(more.at("overlapping_copies") - few.at("overlapping_copies"), 4) << "a batch a step";
  for (const std::string name :
       {"kernels", "host_waits", "copies_to_host", "copies_to_device", "overlapping_copies"}) {
    RecordProperty(name + "_per_step", std::to_string(static_cast<double>(more.at(name) - few.at(name)) / 4));
  }
}

// What a loss has to know of other ranks beforehand costs no wait either.
TEST_P(Workloads, WaitForTheirCardsOnceAStepOnTwoAsWell) {
  const auto few = counted(4, 2), more = counted(8, 2);
  EXPECT_EQ(more.at("host_waits") - few.at("host_waits"), 2 * 4);
  EXPECT_EQ(more.at("pageable_asynchronous_copies"), 0);
}

}  // namespace
}  // namespace larmor::testing
