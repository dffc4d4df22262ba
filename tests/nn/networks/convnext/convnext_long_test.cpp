// The network of the default config, in float64.
#include <gtest/gtest.h>

#include "tests/nn/support/golden_encoders.h"

namespace larmor::nn {
namespace {

TEST(ConvNextGolden, EqualsTheReferenceAtTheSizeBase) {
  const auto golden = testing::Golden::shared("convnext_base");
  if (!golden) GTEST_SKIP() << "convnext_base is not on this machine";
  testing::expect_golden_convnext_by_rule(*golden, ConvNextOptions::of_size("base"));
}

}  // namespace
}  // namespace larmor::nn
