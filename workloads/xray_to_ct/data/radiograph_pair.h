// A volume of the cube of the body with its radiographs, however it was come by: the deterministic half of a
// sample.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/formats/volume.h"
#include "larmor/kernels/projector/projector.h"

#include "workloads/xray_to_ct/data/alignment.h"
#include "workloads/xray_to_ct/data/pair_config.h"

namespace larmor::xray_to_ct {

struct RadiographPair {
  Volume volume;           // [1, size, size, size] HU in the cube
  at::Tensor radiographs;  // [views, rows, columns] float32 in [-1, 1]
  std::vector<RadiographView> views;
  std::vector<Intensity> intensities;  // of each view: line integrals of attenuation to the radiograph
};

/// Line integrals of attenuation [views, rows, columns] of a volume [1, D, H, W] in HU, which lies anywhere.
at::Tensor line_integrals(const Volume& hu, const std::vector<RadiographView>& views,
                          const PairConfig& config);

/// Radiographs of an oriented and centred CT at its own resolution, each from 0 (-1) to its largest line
/// integral (1), and the CT in the cube.
RadiographPair compute_pair(const Volume& ct, const PairConfig& config, int64_t views, int64_t size);

/// The value, for each view, of correlation_in_shadow() of the radiograph with the projection of the pair's
/// volume.
std::vector<double> alignment_of(const RadiographPair& pair, const PairConfig& config);

}  // namespace larmor::xray_to_ct
