// Where pairs come from: a folder of them, CTs, or nowhere (invented chests), as a VolumeSource that the
// caches of the layer data can stand around.
#pragma once

#include <cstdint>
#include <memory>

#include "larmor/config/run_config.h"
#include "larmor/data/index/index.h"
#include "larmor/data/volume_source.h"

#include "workloads/xray_to_ct/data/pair_config.h"
#include "workloads/xray_to_ct/data/radiograph_pair.h"

namespace larmor::xray_to_ct {

/// The pair of one case of an index, whatever the index was found by. Throws Error (data).
RadiographPair make_pair_of(const DataConfig& data, const PairConfig& pairs, const Index& index,
                            int64_t number, int64_t views, int64_t size);

/// Volumes "volume" [1, size, size, size] in HU, "radiographs" [views, rows, columns, 1] in [-1, 1] and
/// "geometry" [views, 10, 1, 1]: see geometry_numbers().
std::unique_ptr<VolumeSource> pair_source(const DataConfig& data, const PairConfig& pairs, const Index& index,
                                          Split split, int64_t views, int64_t size);

/// What a sample needs to know of its views beside the radiographs, as numbers that a cache can keep.
struct PlacedViews {
  std::vector<RadiographView> views;
  std::vector<Intensity> intensities;
};
/// [views, 10, 1, 1] float32 and back.
at::Tensor geometry_numbers(const PlacedViews& placed);
PlacedViews views_from(const at::Tensor& numbers);

}  // namespace larmor::xray_to_ct
