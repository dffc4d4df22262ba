// Studies before their questions: which image stands for each, how large it is, whose it is, and its labels.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "larmor/data/index/split.h"

#include "workloads/xray_vqa/data/question_facts.h"

namespace larmor::xray_vqa {

struct Study {
  std::string id;       // "s50414267"
  std::string patient;  // "p10000032"
  std::string image;    // path relative to the images' folder
  std::string image_id;
  int64_t width = 0, height = 0;  // of the image, in pixels; 0 where nobody says
  std::optional<Split> split;
  Labels labels;
};

enum class Views : int8_t { frontal_only, all };

struct StudyList {
  std::vector<Study> studies;  // by id, sorted
  int64_t without_image = 0;   // studies that have no image of such a view
  std::string sentence;        // what was found, for people

  /// Null where there is none.
  const Study* find(std::string_view id) const;
};

/// The tables of MIMIC-CXR-JPG below `folder` (split, metadata, chexpert, and the radiologist's labels of the
/// test set where they are), .csv or .csv.gz. Of a study's images the best one is taken: PA, then AP, then
/// any other of the wanted views, and of equal ones the first by name. Throws Error (data): a table that is
/// missing or damaged, columns that it lacks, naming those it has, labels that are none.
StudyList read_mimic_studies(const std::filesystem::path& folder, Views views, Uncertain uncertain);

}  // namespace larmor::xray_vqa
