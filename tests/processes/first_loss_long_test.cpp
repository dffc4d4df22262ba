// The first loss in bf16 beside that in fp32, of volumes of few slices, which oneDNN convolves on memory that
// nobody wrote where it is left to itself, for each set of instructions that can be asked for.
#include <cmath>
#include <iostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/processes/support/program_run.h"

namespace larmor::testing {
namespace {

double first_loss(const std::string& size, const std::string& precision, const std::string& instructions) {
  const ScratchFolder scratch;
  const auto end = larmor_program(
      {"train", "survival", "-c", "tiny", "train.precision=" + precision, "data.cohort_size=" + size,
       "model.depth=18", "model.widen_factor=0.25", "run.seed=1", "run.name=one", "--steps", "1"},
      {.folder = scratch.path(), .environment = {{"ONEDNN_MAX_CPU_ISA", instructions}}});
  EXPECT_EQ(end.status, 0) << end.err;
  const auto steps = events_of(scratch.path() / "runs/one", "step");
  return steps.empty() ? std::nan("") : steps.front().at("values").at("train/loss").get<double>();
}

TEST(FirstLoss, OfVolumesOfFewSlicesInBf16IsThatInFp32ButForRounding) {
  // A loss of four examples is a difference of outputs that are alike, so less of it is sure where it is
  // small.
  constexpr double usual = 0.05, of_small = 0.15, small = 2;
  for (const std::string size : {"[64,64,16]", "[32,32,8]", "[64,64,8]", "[16,16,4]", "[48,40,24]"}) {
    const double wanted = first_loss(size, "fp32", "DEFAULT");
    for (const std::string instructions : {"AVX512_CORE", "AVX512_CORE_BF16", "AVX512_CORE_AMX", "DEFAULT"}) {
      const double found = first_loss(size, "bf16", instructions);
      EXPECT_LE(std::abs(found - wanted), (wanted < small ? of_small : usual) * wanted)
          << size << " with " << instructions << ": " << found << " for " << wanted;
      std::cout << size << ' ' << instructions << ": " << found << " for " << wanted << '\n';
    }
  }
}

}  // namespace
}  // namespace larmor::testing
