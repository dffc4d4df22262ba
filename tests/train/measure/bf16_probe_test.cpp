#include "larmor/train/measure/bf16_probe.h"

#include <cmath>

#include <gtest/gtest.h>

namespace larmor {
namespace {

TEST(Bf16Probe, GivesARatioOfTimes) {
  const double speedup = measured_bf16_speedup();
  EXPECT_TRUE(std::isfinite(speedup));
  EXPECT_GT(speedup, 0.01);
  EXPECT_LT(speedup, 100);
}

}  // namespace
}  // namespace larmor
