// What a file or a folder that somebody names stands for: images, or cases whose files belong together.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "larmor/config/run_config.h"
#include "larmor/data/index/file_account.h"
#include "larmor/judge/prediction/predictor.h"
#include "larmor/task/prediction.h"

namespace larmor {

/// The images of cases; texts, and numbers, are to be added.
struct GivenImages {
  std::vector<PredictionCase> cases = {};
  bool of_folder = false;    // a folder of images or of cases
  FileAccount account = {};  // of files that are none

  void join(GivenImages other);
};

/// The cases of a folder that is no image by itself, all inputs of each. Throws Error (data).
GivenImages cases_given(const PredictionForm& form, const DataConfig& trained, const std::string& folder);
/// The images that `value` gives to this one input. Those of a folder are called by their paths below it;
/// where the form has no other image, the folder's cases are told as training tells its own. Throws Error
/// (data).
GivenImages images_given(const PredictionForm& form, const DataConfig& trained, const std::string& input,
                         const std::string& value);

/// Gives `one` the files of a case, by their names in it ("image_t1n"). What training alone reads is no
/// input. Where one image has several channels, they are in the order of `channels`, and one that is lacking
/// is the case's fault.
void take_files(const PredictionForm& form, const std::vector<std::string>& channels,
                const std::map<std::string, std::string>& files, PredictionCase& one);

}  // namespace larmor
