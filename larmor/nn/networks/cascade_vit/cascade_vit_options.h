// What a CascadeVit is made of.
#pragma once

#include <cstdint>
#include <vector>

#include "larmor/config/fields.h"

namespace larmor::nn {

struct CascadeVitOptions {
  int64_t volume_size = 64;                   // voxels an axis
  int64_t patch_size = 2;                     // voxels an axis that are one place of the finest level
  std::vector<int64_t> channels = {64, 128};  // of each level; each one halves the resolution
  int64_t num_res_blocks = 1;                 // of each level, on either side
  int64_t voxel_dim = 256, vit_depth = 4, num_heads = 4;
  int64_t xray_channels = 64;   // of a radiograph's features
  int64_t lifted_channels = 8;  // of what each radiograph brings along its rays
  int64_t xray_tokens = 16;     // tokens an axis of each radiograph
  double dropout = 0.1;
  std::vector<double> view_angles = {0, 90};  // degrees; 0: frontal, 90: lateral
  bool follows_another = false;               // takes the earlier stage's volume

  /// All but the angles and what follows another, which are not a person's to say here.
  void describe(Fields& f);
  /// Throws Error (usage).
  void check() const;
  int64_t views() const { return static_cast<int64_t>(view_angles.size()); }
  /// Places an axis of the finest level, and tokens an axis.
  int64_t finest() const { return volume_size / patch_size; }
  int64_t token_grid() const;
};

}  // namespace larmor::nn
