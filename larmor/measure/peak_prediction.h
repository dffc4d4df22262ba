// From one step whose memory was measured to the memory of steps with other micro-batches.
#pragma once

#include <cstdint>

#include "larmor/measure/activation_count.h"
#include "larmor/measure/measured_step.h"
#include "larmor/plan/kinds.h"

namespace larmor {

/// The most that a step on `micro_batch` samples will hold, that step's batch aside. `count` is that of the
/// same task and recomputation, in fp32; with an empty one (unknown) all that the step took grows with the
/// micro-batch. From two samples on, the measured step also says how far the count is off. One tells less: on
/// a CPU, libtorch convolves a single sample of few voxels without oneDNN.
int64_t predicted_peak(const MeasuredStep& measured, const ActivationCount& count, Precision precision,
                       int64_t micro_batch);

}  // namespace larmor
