#include "larmor/measure/bf16_probe.h"

#include <cmath>

#include <gtest/gtest.h>

#include "larmor/device/cpu_ability.h"

namespace larmor {
namespace {

TEST(Bf16Probe, GivesARatioOfTimes) {
  if (!one_dnn_computes(c10::kBFloat16)) GTEST_SKIP() << "this CPU does not compute in bf16";
  const double speedup = measured_bf16_speedup();
  EXPECT_TRUE(std::isfinite(speedup));
  EXPECT_GT(speedup, 0.01);
  EXPECT_LT(speedup, 100);
}

}  // namespace
}  // namespace larmor
