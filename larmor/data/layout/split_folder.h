// Which folders are called like a split.
#pragma once

#include <optional>
#include <string_view>

#include "larmor/data/index/split.h"

namespace larmor {

/// "train", "validation", "Test", in any case of their letters, and names of which Training, Validation or
/// Testing is a part: "ASNR-MICCAI-BraTS2023-GLI-Challenge-TrainingData". Nothing for another name.
std::optional<Split> split_of_folder(std::string_view name);

}  // namespace larmor
