// A small tree with the layouts of MIMIC-CXR-JPG and MIMIC-Ext-CXR-QBA, made up: patients, images and
// sentences are invented.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "larmor/base/json.h"

namespace larmor::xray_vqa {

/// Six patients p10000001 to p10000006 with a study each, s50000001 to s50000006: patients 1 to 4 train, 5
/// validate, 6 test. Study n has a PA image "pa<n>", an AP one "ap<n>" and a lateral one "lat<n>", of 40
/// columns and 20 rows; study 3 has the lateral one alone. Labels of study 1: 1.0 for Pleural Effusion, -1.0
/// for Pneumonia, 0.0 for Edema, blank otherwise.
class MadeUpMimic {
 public:
  /// Writes the tree below `folder`, compressed where the data set is.
  explicit MadeUpMimic(std::filesystem::path folder);

  std::filesystem::path images() const { return folder_ / "cxr"; }
  std::filesystem::path documents() const { return folder_ / "qa_set"; }
  std::filesystem::path document(int study) const;
  std::filesystem::path vocabulary() const { return folder_ / "vocab.txt"; }

  /// One question of a document; `more` replaces fields of it or of its main answer.
  static Json question(const std::string& type, const std::string& words, const std::string& quality,
                       const Json& answer);
  /// The document of a study: four questions of grade B or better, one of grade D, one without a head, one of
  /// an unknown type, one empty, one that no class answers.
  static Json qa_document(int study);
  static Json scene_graph(int study);

  /// Puts qa/ and scene_data/ into archives instead.
  void zip() const;

 private:
  void write_tables() const;
  std::filesystem::path folder_;
};

/// Such a tree below `folder` of `patients` with a study each, the last fifth to validate: every picture is
/// the same grey, and a coin says in which lung the effusion is that each is asked for, and that its scene
/// shows. Holds the vocabulary, too.
void write_grey_mimic(const std::filesystem::path& folder, int patients);

/// A zip archive; files of odd places are deflated, the others stored.
std::string zip_of(const std::map<std::string, std::string>& files);

}  // namespace larmor::xray_vqa
