// LARMOR_TEST_DEVICE=cuda: what a test computes by device_of_tests() is computed on the first GPU.
#pragma once

#include <c10/core/Device.h>

namespace larmor::testing {

/// The CPU, or the GPU that the variable asks for, ready for use: float32 is IEEE's there. Where it asks for
/// one and there is none, the test program has ended as one that skipped all of its tests.
c10::Device device_of_tests();

}  // namespace larmor::testing
