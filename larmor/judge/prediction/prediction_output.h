// What is left of a call of `predict`: volumes in files, numbers and words in a table, all of it as JSON.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/json.h"
#include "larmor/judge/prediction/prediction_cases.h"
#include "larmor/task/prediction.h"

namespace larmor {

/// The names of all files that a call writes.
class PredictionFiles {
 public:
  /// `output`: a file, or a folder where there are several cases, or it is one, or it ends in `/`.
  /// Throws Error (usage): an output is an input, or two cases would have the same one.
  PredictionFiles(const PredictionForm& form, const PredictionCases& cases, std::filesystem::path output);

  /// <case>.nii.gz, or where several volumes come out <case>-<name>.nii.gz; without a folder the output
  /// itself.
  std::filesystem::path volume(const PredictionCase& one, const std::string& name) const;
  /// The files of the samples of a case: <case>-mean.nii.gz and <case>-deviation.nii.gz, as volume().
  std::filesystem::path mean(const PredictionCase& one, const std::string& name) const;
  std::filesystem::path deviation(const PredictionCase& one, const std::string& name) const;
  /// <case>-<name>.png in the folder, or beside the output.
  std::filesystem::path picture(const PredictionCase& one, const std::string& name) const;
  /// The table of numbers and words; empty where volumes are the output, and it is no folder.
  std::filesystem::path table() const;

 private:
  std::vector<std::string> volumes_;  // that come out of a case
  std::filesystem::path output_;
  bool into_folder_ = false;
};

/// What came of a case, without its voxels.
struct PredictedCase {
  std::vector<std::pair<std::string, std::string>> files = {};  // of volumes, by their names
  std::vector<std::pair<std::string, double>> numbers = {};
  std::vector<std::pair<std::string, std::string>> words = {};
  std::vector<std::pair<std::string, std::string>> missing = {};  // as Prediction's
  std::string failure = {};                                       // why nothing came of it; empty otherwise
  std::string hint = {};
  Exit exit = Exit::done;
};
Json to_json(const PredictedCase& one);
PredictedCase predicted_case_from_json(const Json& json);

/// Writes a volume of a case at once by one rename; it has the header of the case's first image where that
/// still holds, its free text as the form says.
void write_volume(Storage& storage, const std::filesystem::path& file, const PredictionForm& form,
                  const PredictionCase& one, const Volume& volume);
/// Writes a case's volumes, each as write_volume(), and its pictures.
PredictedCase write_prediction(Storage& storage, const PredictionFiles& files, const PredictionForm& form,
                               const PredictionCase& one, const Prediction& prediction);

/// A line of CSV a case, after one of names; cases that failed are left out.
std::vector<std::string> prediction_table(const PredictionForm& form,
                                          const std::vector<PredictionCase>& cases,
                                          const std::vector<PredictedCase>& results);
/// A row a case that did not fail: case, inputs, outputs, values, those that are missing as null and under
/// `missing` with the reason; and for one input and one output as `input` and `output`, the values beside
/// them.
Json prediction_json(const PredictionFiles& files, const std::vector<PredictionCase>& cases,
                     const std::vector<PredictedCase>& results);

}  // namespace larmor
