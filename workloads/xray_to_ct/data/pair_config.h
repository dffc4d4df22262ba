// What the section `data` says of pairs of radiographs and CT volumes, beside what every workload's data say.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "larmor/config/fields.h"
#include "larmor/config/run_config.h"
#include "larmor/kernels/projector/projector.h"

namespace larmor::xray_to_ct {

/// The kind of a folder of pairs, and of a folder of CTs that radiographs are computed from.
constexpr const char* pairs_kind = "pairs";

/// Where voxel (depth, height, width) of a cube lies, in mm, its middle at the origin. Depth grows from
/// posterior to anterior, height from superior to inferior, width from the patient's right to the left: the
/// frontal view of the cube is its sum over depth, the lateral one its sum over width with depth as columns,
/// both as they stand.
VoxelPositions cube_positions(double extent, int64_t size);

struct PairConfig {
  std::string ct;                 // folder of CT series and NIfTI files; empty: data.folder holds pairs
  double extent = 400;            // mm: the edge of the cube of the body that volumes show
  int64_t volume_size = 256;      // voxels along an edge of the volumes that `prepare` writes
  int64_t radiograph_size = 512;  // pixels along an edge
  std::string beam = "cone";      // cone or parallel
  double source_to_isocentre = 1600, source_to_detector = 1800;  // mm
  std::vector<double> hu_range = {-1000, 3000};                  // that become -1 and 1
  double align_at_least = 0.6;  // correlation below which a radiograph is not of its CT; 0: not looked at
  bool flip_vertical = false;   // of the radiographs that are read: row 0 is their lowest
  bool augmentation = true;     // of training examples
  double mirror = 0.5;          // probability that the patient is mirrored left to right
  double brightness = 0.1;      // how much darker radiographs may become, as a share
  double faults = 0;            // of real films, put into training radiographs: their strength
  double least_height = 150;    // mm that a CT has to show along the body
  double most_spacing = 10;     // mm between the slices of a CT

  /// Fields of the section `data`.
  void describe(Fields& f);
  /// Throws Error (usage).
  void check(const RunConfig& config, int64_t views) const;

  /// The first so many of frontal and lateral, around the origin: what `prepare` computes.
  std::vector<RadiographView> views(int64_t count) const;
  /// The positions of the cube of the body: cube_positions().
  VoxelPositions positions(int64_t size) const;
};

}  // namespace larmor::xray_to_ct
