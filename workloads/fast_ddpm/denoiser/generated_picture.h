// A generated modality beside the true one and what it was made from, for a person to look at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/task/metrics.h"

namespace larmor::fast_ddpm {

struct GeneratedModality {
  at::Tensor image;      // [C, D, H, W] in [-1, 1], the true one among the channels
  at::Tensor present;    // [C] bool
  at::Tensor generated;  // [D, H, W]
  int64_t target = 0;    // its channel
};

/// The modality of which the picture of a case is, where it has one alone: the cases that are shown, `place`
/// among them, go through those that they have. present: [C] bool, one of them set.
int64_t shown_target(const at::Tensor& present, int64_t place);

/// One more case of the picture `name`: the sources that it has, the target, the result and their
/// difference.
void show_generated(const std::string& name, const GeneratedModality& made,
                    const std::vector<std::string>& modalities, int64_t example, Metrics& metrics);

}  // namespace larmor::fast_ddpm
