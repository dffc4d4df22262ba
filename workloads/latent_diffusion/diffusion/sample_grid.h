// What an invented image looks like: that of training.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "larmor/config/run_config.h"
#include "larmor/data/dataset.h"
#include "larmor/formats/affine.h"

namespace larmor::latent_diffusion {

struct SampleGrid {
  std::vector<int64_t> window;  // voxels an axis of a training crop
  Affine affine = identity_affine();
};

/// The grid, for Stage::keeps(): sides and axes of the voxels of the first of these images that can be read,
/// as transforms leave it. The axes are made straight: an invented head is tilted in no scanner. Empty where
/// no image can be read, or its file says nothing of its grid.
std::map<std::string, std::string> kept_grid(const Dataset& images, uint64_t seed);

/// The grid that was kept, among `kept_files`; where none was (runs of earlier versions, weights without a
/// run), where the declared transforms leave an image with voxels of 1 mm.
SampleGrid sample_grid(const RunConfig& config,
                       const std::map<std::string, std::filesystem::path>& kept_files);

}  // namespace larmor::latent_diffusion
