// What the steps of a rank take of its device's memory.
#pragma once

#include <algorithm>
#include <cstdint>

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

}  // namespace larmor
