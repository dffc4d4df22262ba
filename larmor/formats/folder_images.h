// The images of a folder that somebody names in place of a file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "larmor/formats/file_kinds.h"

namespace larmor {

/// images_in() the folder; where none lies there, those of each of its sub-folders in the order of their
/// names, by the same rule and however deep, each folder once whatever links lead to it. Throws Error (data)
/// where a folder cannot be read, and where there is no image at all: then with what lies there instead.
/// Empty where the choice leaves none of those that there are.
std::vector<std::filesystem::path> images_below(const std::filesystem::path& folder, ImageChoice choice = {});

}  // namespace larmor
