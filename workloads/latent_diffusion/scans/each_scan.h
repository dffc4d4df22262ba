// Both scans of a pair as examples of their own.
#pragma once

#include <memory>

#include "larmor/data/dataset.h"

namespace larmor::latent_diffusion {

/// The two scans of each example of `pairs`, whose "image" is the pair's image and its label, with the same
/// draws of the transforms. They follow one another, and belong to one case.
std::unique_ptr<Dataset> each_scan(std::unique_ptr<Dataset> pairs);

}  // namespace larmor::latent_diffusion
