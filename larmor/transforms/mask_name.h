// What a volume of an example is called that holds classes and not intensities, beside is_mask().
#pragma once

#include <string_view>

namespace larmor {

/// A label that is a mask: a mask for every step, and a label for the `keys` of one.
constexpr std::string_view label_as_mask = "mask_label";

}  // namespace larmor
