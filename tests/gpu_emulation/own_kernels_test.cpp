// Emulated cards launch Larmor's own kernels (tests/cuda_on_cpu) in place of the CPU's functions: training
// comes to the CPU's values in double precision, but for the order in which kernels add up.
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gpu_emulation/support/emulated_program.h"

namespace larmor::testing {
namespace {

constexpr int steps = 3;
constexpr double allowed = 1e-9;

class OwnKernels : public ::testing::TestWithParam<std::string> {
 protected:
  static std::vector<std::string> training(const std::string& device) {
    return {"train",
            GetParam(),
            "-c",
            "tiny",
            "--no-color",
            "--device",
            device,
            "--ranks",
            "2",
            "--steps",
            std::to_string(steps),
            "run.name=" + device,
            "plan.probe=false",
            "train.precision=fp64",
            "run.deterministic=true"};
  }
};

TEST_P(OwnKernels, GiveTheValuesOfCpus) {
  const ScratchFolder scratch, counters;
  const EmulatedMachine machine{
      .environment = {{"EMULATED_KERNELS", "own"}, {"EMULATED_COUNTERS", counters.path().string()}}};
  const Finished on_gpus = run_on_gpus(training("cuda"), scratch.path(), machine);
  ASSERT_EQ(on_gpus.status, 0) << on_gpus.out << on_gpus.err;
  const Finished on_cpus = larmor_program(training("cpu"), {.folder = scratch.path()});
  ASSERT_EQ(on_cpus.status, 0) << on_cpus.out << on_cpus.err;
  const auto actual = training_values(on_gpus.run_folder()), wanted = training_values(on_cpus.run_folder());
  ASSERT_EQ(actual.size(), static_cast<size_t>(steps));
  ASSERT_EQ(wanted.size(), actual.size());
  for (size_t step = 0; step < actual.size(); ++step) {
    ASSERT_EQ(actual[step].size(), wanted[step].size());
    for (const auto& [name, value] : wanted[step])
      EXPECT_NEAR(actual[step].at(name), value, allowed * std::max(1.0, std::abs(value)))
          << name << ", step " << step;
  }
  int64_t launched = 0;
  for (const auto& file : std::filesystem::directory_iterator(counters.path()))
    launched += parse_json(read_text(file.path()), file.path().string()).at("own_kernels").get<int64_t>();
  EXPECT_GT(launched, steps);
}

INSTANTIATE_TEST_SUITE_P(Of, OwnKernels, ::testing::Values("latent_diffusion", "fast_ddpm", "xray_to_ct"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace larmor::testing
