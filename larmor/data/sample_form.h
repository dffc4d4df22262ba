// What a sample of a stage holds, said by the stage instead of by the names of files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace larmor {

/// By default a sample holds what its case has: image, label, masks.
struct SampleForm {
  /// Modalities that are the channels of "image", in this order: the files image_<modality>, or the file
  /// image where there is one modality. Empty: all that the data declare (Index::channels), less `own_grids`.
  std::vector<std::string> channels = {};
  /// A channel that a case lacks is zeros, and the sample holds "present" [C], bool. Otherwise a case that
  /// lacks one is refused.
  bool missing_as_zeros = false;
  /// Modalities that are volumes of their own, under their own names: each is read on the grid of its file,
  /// and neither compared with the image's nor resampled to it.
  std::vector<std::string> own_grids = {};
  /// The volumes that are wanted, when that is not all: other files are not read.
  std::vector<std::string> only = {};
  /// Above 0 the label of each case, whatever its file is called, is a map of so many classes, the background
  /// among them: the mask `mask_label` (label_as_mask). A case without a label, or with a class more, is
  /// refused.
  int64_t label_classes = 0;
};

}  // namespace larmor
