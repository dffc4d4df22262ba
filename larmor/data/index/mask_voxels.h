// Images that are masks by what is in them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "larmor/data/index/index.h"

namespace larmor {

/// How many values there are, where they are few, whole, none below 0, and more than one: as in masks.
std::optional<int> count_classes(std::span<const float> voxels);

struct LikelyMask {
  std::string path;  // relative to the data folder
  int classes = 0;
};

/// Of the index's images, 500 at most and spread over all: those whose voxels are a mask's. Files that cannot
/// be read are none. Blocks.
std::vector<LikelyMask> find_likely_masks(const Index& index);
/// A sentence on them; nothing where there are none.
std::optional<std::string> likely_masks_warning(const std::vector<LikelyMask>& masks);

}  // namespace larmor
