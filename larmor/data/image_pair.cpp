#include "larmor/data/image_pair.h"

#include <utility>

#include "larmor/base/text.h"

namespace larmor {

bool may_hold_a_pair(const std::string& file) { return lower(file).ends_with(".npz"); }

bool holds_a_pair(const std::string& file, const Volume& read) {
  return may_hold_a_pair(file) && read.voxels.size(0) == 2;
}

ImagePair apart(Volume pair) {
  Volume label{pair.voxels.narrow(0, 1, 1), pair.affine};
  pair.voxels = pair.voxels.narrow(0, 0, 1);
  return {.image = std::move(pair), .label = std::move(label)};
}

}  // namespace larmor
