// What stages of volumes check, and the samples that they see.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "larmor/config/run_config.h"
#include "larmor/data/dataset.h"
#include "larmor/data/index/index.h"
#include "larmor/data/make_volumes.h"
#include "larmor/data/sample_form.h"

namespace larmor {

/// A size that is too small for something that looks at an image.
struct LeastSize {
  int64_t voxels = 0;       // an axis
  std::string why;          // "SSIM, by which it is judged, looks at 11 at once"
  std::string instead;      // what to do besides larger crops and images: "leave loss.x empty"
  bool in_training = true;  // and not in validation alone
};

/// That an image is large enough for SSIM, in validation.
LeastSize least_for_ssim(int64_t window);
/// Throws Error (data) where an axis of the sample's image is shorter.
void check_least(const Sample& sample, const LeastSize& least);
/// Throws Error (usage) unless `size`, the voxels along an axis that the declared transforms leave, is a
/// multiple of `divisor`.
void check_crop(int64_t size, int64_t divisor);
/// Throws Error (data) unless each axis of the sample's image has a multiple of `divisor` voxels.
void check_sizes(const Sample& sample, int64_t divisor);
/// Throws Error where there is no such file, and as read_published_weights(); an empty name is none. `key`:
/// of the config, which names the file.
void check_weights(const std::string& weights, const std::string& key = "model.weights");
/// Throws Error (usage) unless whole cases can be judged in such windows, by a network that takes multiples
/// of `divisor` voxels; nothing where they are not.
void check_windows(const ValidationConfig& validation, int64_t divisor);
/// make_volume_dataset() with the declared chain: as it is for training, as validation sees cases otherwise.
std::unique_ptr<Dataset> volume_dataset(const RunConfig& config, const Index& index, Split split,
                                        const SampleForm& form = {}, const MakeVolumes& make = {});

}  // namespace larmor
