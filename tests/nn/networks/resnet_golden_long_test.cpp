// The deep ResNets against what MONAI computed with the same weights, in float64.
#include <gtest/gtest.h>

#include "tests/nn/support/golden_resnet.h"

namespace larmor::nn {
namespace {

TEST(ResNetGolden, EqualsTheReferenceAtFiftyLayers) { testing::expect_golden_resnet(50); }

TEST(ResNetGolden, GivesTheCheckValuesOfDeepNetworks) {
  const auto expect = [](int64_t depth, const testing::CheckValues& expected) {
    ResNetOptions options;
    options.depth = depth;
    testing::expect_resnet_check_values(options, expected);
  };
  expect(34, {-8.116793078092e-01, 8.116793078092e-01, -8.094461524095e-01, -8.139124632089e-01});
  expect(50, {-1.780610800378e+00, 1.780610800378e+00, -1.772837674797e+00, -1.788383925959e+00});
  expect(101, {-4.562743220395e+00, 4.562743220395e+00, -4.534266349328e+00, -4.591220091462e+00});
}

}  // namespace
}  // namespace larmor::nn
