// From what a person has typed behind `predict` to the cases of the call. Nothing of an image is read here
// but its beginning.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "larmor/config/run_config.h"
#include "larmor/data/index/file_account.h"
#include "larmor/judge/prediction/predictor.h"
#include "larmor/task/prediction.h"

namespace larmor {

struct PredictionRequest {
  std::vector<std::string> inputs =
      {};                             // VALUE or NAME=VALUE; only the name of a declared input splits at `=`
  std::filesystem::path table = {};   // CSV, one case a row; empty: none
  std::optional<int64_t> count = {};  // of samples: of each case, or where there is no input, in all
};

struct PredictionCases {
  /// The cases in the order of the request, those of a folder by name; the samples of a case one after the
  /// other.
  std::vector<PredictionCase> cases;
  bool of_folder = false;    // one of the inputs is a folder of images, or the cases stand in a table
  FileAccount account = {};  // of files in folders that are no case; ranks have no use for it
};
Json to_json(const PredictionCases& found);
PredictionCases prediction_cases_from_json(const Json& json);

/// A stage with one image input takes many of them, one a case, and folders of them; with several image
/// inputs each is given once, or folders are given whose cases have them all. `trained`: by which the files
/// of folders and tables are told. A text that is given n times makes n cases of each image. Throws Error:
/// usage when an input is not known, is given twice or is missing, when --count does not fit the stage, or as
/// PredictionForm::check; data when there is no such file, a folder holds no image, or a file is none.
PredictionCases find_prediction_cases(const PredictionForm& form, const PredictionRequest& request,
                                      const DataConfig& trained = {});
/// Words for a person on what lies in folders and tables and is no case: a line a reason, and the warnings.
std::vector<std::string> account_messages(const FileAccount& account);

/// Those of which there are several samples, once each and under their own names.
std::vector<PredictionCase> sampled_cases(const std::vector<PredictionCase>& cases);

}  // namespace larmor
