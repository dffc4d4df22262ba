// The networks of tests/golden/resnet*.safetensors, whose weights are a function of their names.
#pragma once

#include "larmor/nn/networks/resnet.h"

#include "tests/nn/support/golden.h"

namespace larmor::testing {

/// Weights and running statistics from their names, rounded to `type`.
nn::ResNet resnet_by_rule(const nn::ResNetOptions& options, at::ScalarType type);
/// In evaluation mode, for the input (2, 1, 32, 32, 16), against a line of the table of check values.
void expect_resnet_check_values(const nn::ResNetOptions& options, const CheckValues& expected);

/// Holds outputs, loss, gradients and running statistics of MONAI's default network of `depth` layers to the
/// stored ones, in float64, and the outputs of its twin in float32.
void expect_golden_resnet(int64_t depth);

}  // namespace larmor::testing
