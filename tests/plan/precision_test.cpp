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
            "train.precision=fp16, or leave it at auto");
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
