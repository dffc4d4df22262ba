// In which numbers the network computes.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"
#include "larmor/plan/plan.h"

#include "tests/plan/support/machines.h"
#include "tests/plan/support/request.h"

namespace larmor {
namespace {

using testing::gibibyte;
using testing::machine;
using testing::with_gpus;

class Numbers : public testing::Request {};

TEST_F(Numbers, RefuseBf16OnACardThatHasNone) {
  config.train.precision = "bf16";
  EXPECT_EQ(refusal_on(with_gpus(machine(8, 32), 1, "Tesla T4", 15 * gibibyte, 7, 5)),
            "2: train.precision is bf16, but GPU 0 has compute capability 7.5 and bf16 needs 8.0 | "
            "train.precision=fp16, or leave it at auto; a run that was begun in bf16 goes on where that is "
            "computed");
}

TEST_F(Numbers, AreFp32OnACpuThatHasNoBf16) {
  Hardware hardware = machine(8, 32);
  hardware.computes_bf16 = false;
  hardware.bf16_speedup = 2.5;  // of another CPU, from a file
  const Plan plan = plan_on(hardware);
  EXPECT_EQ(plan.precision, Precision::fp32);
  EXPECT_THAT(plan.reasons,
              ::testing::Contains("Precision fp32: this CPU does not compute in bf16, which takes "
                                  "AVX-512 (BW, DQ and VL) or AVX-NE-CONVERT."));
  hardware.hosts = 2;
  EXPECT_THAT(plan_on(hardware).reasons,
              ::testing::Contains(::testing::HasSubstr("the CPU of a host does not")));
}

TEST_F(Numbers, RefuseBf16OnACpuThatHasNone) {
  Hardware hardware = machine(8, 32);
  hardware.computes_bf16 = false;
  config.train.precision = "bf16";
  EXPECT_EQ(refusal_on(hardware),
            "2: train.precision is bf16, but this CPU does not compute in bf16, which takes AVX-512 (BW, DQ "
            "and VL) or "
            "AVX-NE-CONVERT | train.precision=fp32, or leave it at auto; a run that was begun in bf16 goes "
            "on where that "
            "is computed");
  for (const char* const other : {"fp32", "fp16", "fp64"}) {
    config.train.precision = other;
    EXPECT_EQ(to_text(plan_on(hardware).precision), other);
  }
}

TEST_F(Numbers, MayBeBf16OnACpuThatNobodyAsked) {
  config.train.precision = "bf16";
  EXPECT_EQ(plan_on(machine(8, 32)).precision, Precision::bf16);
}

TEST_F(Numbers, OfGpusDoNotDependOnTheCpu) {
  Hardware hardware = with_gpus(machine(8, 32), 1, "NVIDIA L4", 24 * gibibyte, 8, 9);
  hardware.computes_bf16 = false;
  EXPECT_EQ(plan_on(hardware).precision, Precision::bf16);
}

TEST_F(Numbers, OfACpuThatHasNoBf16AreNoRemedyForMemory) {
  demand.activation_bytes_per_sample = int64_t{40} << 30;
  Hardware hardware = machine(8, 32);
  EXPECT_THAT(refusal_on(hardware), ::testing::HasSubstr("train.precision=bf16"));
  hardware.computes_bf16 = false;
  EXPECT_THAT(refusal_on(hardware), ::testing::Not(::testing::HasSubstr("bf16")));
}

TEST_F(Numbers, RefuseWordsThatNobodyKnows) {
  config.train.precision = "fp8";
  EXPECT_EQ(refusal_on(machine(4, 16)), "2: train.precision is \"fp8\" | say auto, fp32, bf16, fp16 or fp64");
}

TEST_F(Numbers, DependOnTheCardsThatAreUsedOnly) {
  Hardware hardware = with_gpus(machine(8, 64), 1, "Tesla T4", 15 * gibibyte, 7, 5);
  hardware = with_gpus(hardware, 1, "NVIDIA A100", 40 * gibibyte, 8, 0);
  config.parallel.ranks = "1,";
  EXPECT_EQ(plan_on(hardware).precision, Precision::bf16);
  config.parallel.ranks = "auto";
  EXPECT_EQ(plan_on(hardware).precision, Precision::fp16);
}

}  // namespace
}  // namespace larmor
