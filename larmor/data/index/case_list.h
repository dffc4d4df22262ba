// List files: cases that a person has written down, as CSV or as MONAI's data-list JSON.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "larmor/data/index/split.h"

namespace larmor {

struct ListedCase {
  std::string place;  // for messages: "list.csv:7", "list.json: training[3]"
  std::map<std::string, std::string>
      files;            // "image", "image_<modality>", "label", "mask", "mask_<name>" -> as written
  std::string patient;  // "" when the list does not say
  std::string label;    // a value; label files are among the files
  std::optional<Split> split;
  std::map<std::string, double> values = {};  // numbers of the case; read_case_list gives none
  std::vector<std::string> modalities = {};   // of its images, in the list's order; empty for a single one
};

/// CSV when the name ends in .csv or .tsv, otherwise JSON. CSV: columns `image` or `image_<modality>`, and if
/// present `label` (a value or a file), `mask` or `mask_<name>` (files), `patient`, `split`; other columns
/// are left alone. A cell under `image_<modality>` may be empty where the case has another image. JSON:
/// sections "training", "validation", "test" or "testing" of {"image": path or [paths], "label", "mask",
/// "mask_<name>", "patient"}, or of bare paths; with several paths they become image_00, image_01, …. Cases
/// of "training" have a split only when the list has a section "validation", too. Throws Error (data) naming
/// the place.
std::vector<ListedCase> read_case_list(const std::filesystem::path& path);

/// Whether a name ends like a volume that read_volume knows.
bool names_a_volume(const std::string& path);

}  // namespace larmor
