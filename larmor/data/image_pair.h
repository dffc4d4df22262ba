// A file that holds an image and its label as two channels: .npz, as training reads it.
#pragma once

#include <string>

#include "larmor/formats/volume.h"

namespace larmor {

/// Whether a file may, by its name.
bool may_hold_a_pair(const std::string& file);
/// Whether one that is all the images of its case does.
bool holds_a_pair(const std::string& file, const Volume& read);

struct ImagePair {
  Volume image, label;
};
/// Borrows the memory of `pair`, as tensors do.
ImagePair apart(Volume pair);

}  // namespace larmor
