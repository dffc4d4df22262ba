// Which files hold classes, by what they and their folders are called.
#pragma once

#include <string>

#include "larmor/data/index/index.h"

namespace larmor {

/// Whether a word of the file's name, or its folder, says that it holds classes: "t1_seg.nii.gz",
/// "lesion-mask.npy", "labelsTr/spleen_2.nii.gz", "masks/a.png".
bool is_called_like_a_mask(const std::string& path);

/// Whether the label files of an index are masks: each is called so by another word than its role's, or the
/// first is a segmentation by its DICOM class. Otherwise they are images that are learned.
bool labels_are_masks(const Index& index);

}  // namespace larmor
