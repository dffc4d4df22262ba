// What the cascade makes of a case's radiographs, for a person to look at.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/task/metrics.h"

#include "workloads/xray_to_ct/data/pair_config.h"

namespace larmor::xray_to_ct {

struct CascadeCase {
  at::Tensor radiographs;    // [V, rows, columns] in [-1, 1]
  at::Tensor reprojections;  // of the last stage's volume, on their scale
  at::Tensor rays;           // [V, ray_numbers], of both
  at::Tensor truth;          // [D, H, W] in [-1, 1]
  std::vector<at::Tensor>
      stages;  // what stage 1, 2, … made of it, each [d, h, w]; the last as large as truth
};

/// One more case of the picture `volume`: radiographs, reprojections, the CT, each stage's volume, and how
/// far the last one is from the CT.
void show_cascade(const CascadeCase& made, const PairConfig& pairs, int64_t example, Metrics& metrics);

/// One more case of the picture `spread`: |error| of the mean of samples, and their deviation, both
/// [D, H, W] in HU.
void show_spread(const at::Tensor& error, const at::Tensor& deviation, int64_t example, Metrics& metrics);

}  // namespace larmor::xray_to_ct
