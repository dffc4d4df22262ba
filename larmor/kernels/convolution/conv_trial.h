// Forms of convolutions, each tried once on this CPU before it is used (docs/decisions/0075).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "larmor/kernels/convolution/conv3d_form.h"

namespace larmor {

class TrialRecord;

/// The sizes of a convolution: [N, C, D, H, W] by [O, C, d, h, w].
struct ConvSizes {
  int64_t samples, in, out;
  std::array<int64_t, 3> image, kernel;
};

/// The form by a path that gives on this CPU what float64 gives, also on memory that nobody wrote: its own,
/// or else the first that does of padded, columns and wide columns, and a warning says so, once. Tries
/// forward and gradients where the record has no outcome. Draws no random numbers that others draw, keeps
/// nothing for backward, and is seen by no profile. Throws Error (environment) where no path is right.
/// Thread-safe.
Conv3dForm tried_form(TrialRecord& record, Conv3dForm form, const ConvSizes& sizes);

/// What a form computes by is left unwritten at one place while it lives, on every thread: for tests.
class PlantedConvFault {
 public:
  explicit PlantedConvFault(const std::vector<ConvPath>& paths);
  ~PlantedConvFault();
  PlantedConvFault(const PlantedConvFault&) = delete;
  PlantedConvFault& operator=(const PlantedConvFault&) = delete;
};

/// `result`, which PlantedConvFault leaves without one number.
at::Tensor with_planted_fault(ConvPath path, const at::Tensor& result);

}  // namespace larmor
