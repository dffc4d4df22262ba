// The networks of tests/golden/resnet*.safetensors, whose weights are a function of their names.
#pragma once

#include "larmor/nn/resnet.h"

#include "tests/nn/support/golden.h"

namespace larmor::testing {

/// One channel in, one number out, shortcut B with bias: MONAI's defaults. The weights are rounded to `type`.
nn::ResNet resnet_by_rule(int64_t depth, at::ScalarType type);
/// In evaluation mode against its line of the table of check values.
void expect_resnet_check_values(int64_t depth, const CheckValues& expected);

/// Holds outputs, loss, gradients and running statistics of `depth` to the stored ones, in float64, and the
/// outputs of its twin in float32.
void expect_golden_resnet(int64_t depth);

}  // namespace larmor::testing
