// What stages of volumes share: functions that a stage calls, no class that it is.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "larmor/config/run_config.h"
#include "larmor/data/dataset.h"
#include "larmor/data/index/index.h"
#include "larmor/data/make_volumes.h"
#include "larmor/data/sample_form.h"

namespace larmor {

/// The chains of training and of validation that data.transforms declares can be built. Throws Error (usage).
/// Gives how many examples training cuts out of each case.
int64_t check_chains(const RunConfig& config);
/// Throws Error (data) unless the sample's image has so many channels; `key` is the key of the config that
/// says how many the network takes.
void check_channels(const Sample& sample, int64_t channels, const std::string& key);
/// What Stage::check_start() asks of a first example and of weights to start from. No weights where the name
/// is empty. Throws Error: as check_channels(), and usage where there is no such file.
void check_first(const Sample& first, int64_t channels, const std::string& key, const std::string& weights);
/// Throws Error (usage) unless `size`, the voxels of a declared crop, is a multiple of `divisor`.
void check_crop(int64_t size, int64_t divisor);
/// Throws Error (data) unless each axis of the sample's image has a multiple of `divisor` voxels.
void check_sizes(const Sample& sample, int64_t divisor);
/// Throws Error (data) where an axis of the sample's image is shorter than `window`, the voxels that SSIM
/// looks at together.
void check_size_for_ssim(const Sample& sample, int64_t window);
/// Voxels an axis that a training example has where data.transforms crops; 64 where it does not.
std::vector<int64_t> training_window(const RunConfig& config);
/// Throws Error where there is no such file, and as read_published_weights(); an empty name is none.
void check_weights(const std::string& weights);
/// Throws Error (usage) unless whole cases can be judged in such windows, by a network that takes multiples
/// of `divisor` voxels; nothing where they are not.
void check_windows(const ValidationConfig& validation, int64_t divisor);
/// make_volume_dataset() with the declared chain: as it is for training, as validation sees cases otherwise,
/// which is without any crop where `validation` is of whole cases.
std::unique_ptr<Dataset> volume_dataset(const RunConfig& config, const Index& index, Split split,
                                        const SampleForm& form = {}, const MakeVolumes& make = {},
                                        const ValidationConfig& validation = {});

}  // namespace larmor
