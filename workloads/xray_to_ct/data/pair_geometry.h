// The file beside a prepared pair that says how its radiographs were made: <case>_geometry.json.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "larmor/base/json.h"
#include "larmor/kernels/projector/projector.h"

#include "workloads/xray_to_ct/data/alignment.h"

namespace larmor::xray_to_ct {

struct PairGeometry {
  std::vector<RadiographView> views;   // frontal, lateral
  std::vector<Intensity> intensities;  // of each view
  std::vector<double> correlations;    // of each view with the projection of the volume
  double extent = 0;                   // mm, of the volume's cube
  Json made_from = nullptr;  // what prepare() made the pair of: tells whether it has to be made again
};

Json to_json(const PairGeometry& geometry);
/// Throws Error (data) when it is not one, or its lists differ in length.
PairGeometry pair_geometry_from(const Json& json);

/// "set/7/7_geometry.json" beside the volume "set/7/7.nii.gz".
std::filesystem::path geometry_file(const std::filesystem::path& volume);
/// Nothing where there is no such file. Throws Error (data) when it is damaged.
std::optional<PairGeometry> find_geometry(const std::filesystem::path& volume);

}  // namespace larmor::xray_to_ct
