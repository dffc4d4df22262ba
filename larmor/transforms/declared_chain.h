// The chains of training, validation and prediction, all from the one that a config declares.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "larmor/base/json.h"

namespace larmor {

/// Training: the declared chain as it is, less the parameters that only validation reads.
Json training_chain(const Json& declared);
/// Validation: the random crop becomes the centre crop, of validation_roi_size where that is given; nothing
/// else is random.
Json validation_chain(const Json& declared);
/// Prediction: whole volumes, so no crop at all, and nothing random.
Json prediction_chain(const Json& declared);
/// The steps of a chain that say by `keys` which volumes they are for, by name, with these. What is said of
/// reading (LoadImage, EnsureChannelFirst) is for files.
std::vector<std::pair<std::string, std::vector<std::string>>> keys_of_steps(const Json& chain);

}  // namespace larmor
