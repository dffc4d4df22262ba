// How fast this rank's device is at its best, as far as three small probes show.
#pragma once

#include <c10/core/Device.h>

#include "larmor/plan/kinds.h"

namespace larmor {

/// Floating-point operations and bytes a second: the best of a few turns each, with the threads of the
/// process.
struct MachinePeak {
  double convolution = 0;  // 3³, 64 channels, forward and backward
  double product = 0;      // of square matrices
  double bytes = 0;        // of a copy, read and written
};

/// The peak of `precision`'s type, in that layout.
MachinePeak measured_peak(c10::Device device, Precision precision, Layout layout);

}  // namespace larmor
