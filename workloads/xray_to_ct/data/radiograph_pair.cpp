#include "workloads/xray_to_ct/data/radiograph_pair.h"

#include <ATen/ATen.h>

#include "larmor/kernels/projector/attenuation.h"

#include "workloads/xray_to_ct/data/ct_volume.h"

namespace larmor::xray_to_ct {

at::Tensor line_integrals(const Volume& hu, const std::vector<RadiographView>& views,
                          const PairConfig& config) {
  const at::Tensor clamped = hu.voxels.clamp(config.hu_range[0], config.hu_range[1]);
  return project(attenuation_of_hu(clamped), ray_geometry(views, hu.affine), views.front().pixels[0],
                 views.front().pixels[1])[0];
}

RadiographPair compute_pair(const Volume& ct, const PairConfig& config, int64_t views, int64_t size) {
  RadiographPair pair;
  pair.views = config.views(views);
  pair.radiographs = line_integrals(ct, pair.views, config);
  for (int64_t view = 0; view < views; ++view) {
    const double most = pair.radiographs[view].max().item<double>();
    pair.intensities.push_back({.scale = most > 0 ? 2 / most : 1, .offset = -1});
    pair.radiographs[view].mul_(pair.intensities.back().scale).sub_(1);
  }
  pair.volume = in_cube(ct, config.extent, size);
  return pair;
}

std::vector<double> alignment_of(const RadiographPair& pair, const PairConfig& config) {
  const at::Tensor projected = line_integrals(pair.volume, pair.views, config);
  std::vector<double> correlations;
  for (int64_t view = 0; view < projected.size(0); ++view)
    correlations.push_back(correlation_in_shadow(projected[view], pair.radiographs[view]));
  return correlations;
}

}  // namespace larmor::xray_to_ct
