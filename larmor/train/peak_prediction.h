// From one step whose memory was measured to the memory of steps with other micro-batches.
#pragma once

#include <algorithm>
#include <cstdint>

#include "larmor/plan/plan.h"
#include "larmor/train/activation_count.h"

namespace larmor {

/// One rank's step, in bytes of its device. The first step makes what later ones keep (the optimizer's
/// states); measure another.
struct MeasuredStep {
  int64_t micro_batch = 1;
  int64_t before = 0;         // held when the step begins, its batch aside
  int64_t backward_peak = 0;  // the most held from there to the end of backward
  int64_t update_peak = 0;    // the most held while gradients meet and weights move
  int64_t peak() const { return std::max(backward_peak, update_peak); }
};

/// The most that a step on `micro_batch` samples will hold, that step's batch aside. `count` is that of the
/// same task and recomputation, in fp32; with an empty one (unknown) all that the step took grows with the
/// micro-batch. From two samples on, the measured step also says how far the count is off. One tells less: on
/// a CPU, libtorch convolves a single sample of few voxels without oneDNN.
int64_t predicted_peak(const MeasuredStep& measured, const ActivationCount& count, Precision precision,
                       int64_t micro_batch);

}  // namespace larmor
