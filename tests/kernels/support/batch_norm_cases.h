// Batch norms for a GPU, or for the kernels of one.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include "tests/kernels/support/card_case.h"

namespace larmor::testing::card {

/// With and without a sum, ReLU and moments that are given; rows that fill packs and that do not, several
/// pieces of a channel, one voxel.
std::vector<CardCase> batch_norm_cases();

/// [2, C] in float64 on the CPU: running moments of `type`, moved by a batch's on `device`.
at::Tensor remembered_moments(c10::Device device, at::ScalarType type);

}  // namespace larmor::testing::card
