// The deep ResNets against what MONAI computed with the same weights, in float64.
#include <gtest/gtest.h>

#include "tests/nn/support/golden_resnet.h"

namespace larmor::nn {
namespace {

TEST(ResNetGolden, EqualsTheReferenceAtFiftyLayers) { testing::expect_golden_resnet(50); }

TEST(ResNetGolden, GivesTheCheckValuesAtFiftyLayers) {
  testing::expect_resnet_check_values(
      50, {-1.780610800378e+00, 1.780610800378e+00, -1.772837674797e+00, -1.788383925959e+00});
}

}  // namespace
}  // namespace larmor::nn
