// Invented heads as several MR contrasts show them: for tests and first looks at a task that translates
// between contrasts.
#pragma once

#include <cstdint>
#include <vector>

#include "larmor/config/run_config.h"
#include "larmor/data/make_volumes.h"
#include "larmor/formats/volume.h"

namespace larmor::fast_ddpm {

/// The phantom of `seed` and `number` (larmor/data/synthetic/phantom.h) in `channels` contrasts: T1, T1 with
/// contrast agent, T2 and FLAIR, and from the fifth on T1 again. [channels, X, Y, Z], 0 outside the head, as
/// where a skull was stripped. Each contrast has noise of its own.
Volume make_contrast_phantom(uint64_t seed, int64_t number, const std::vector<int64_t>& size,
                             int64_t channels);
/// Those of a config, as "image".
MakeVolumes contrast_phantoms(const DataConfig& data, int64_t channels);

}  // namespace larmor::fast_ddpm
