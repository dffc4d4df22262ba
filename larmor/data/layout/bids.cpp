// Source: the Brain Imaging Data Structure 1.10: sub-<label>[/ses-<label>]/<datatype>/…;
// derivatives/<pipeline> repeats the folders of the subjects, sourcedata and rawdata too. Masks end in _mask,
// _dseg or _probseg.
#include <algorithm>
#include <cctype>
#include <system_error>

#include "larmor/data/layout/layout.h"

namespace larmor {
namespace {

bool names_subject(std::string_view folder) {
  const auto is_plain = [](unsigned char letter) { return std::isalnum(letter) != 0 || letter == '+'; };
  return folder.size() > 4 && folder.starts_with("sub-") &&
         std::all_of(folder.begin() + 4, folder.end(), is_plain);
}

std::size_t place_of_subject(const PathParts& file) {
  return static_cast<std::size_t>(std::find_if(file.folders.begin(), file.folders.end(), names_subject) -
                                  file.folders.begin());
}

bool is_of_subject(const PathParts& file) { return place_of_subject(file) < file.folders.size(); }

bool is_bids(const std::vector<PathParts>& files, const std::filesystem::path& folder) {
  std::error_code unknown;
  if (!std::any_of(files.begin(), files.end(), is_of_subject)) return false;
  return std::filesystem::exists(folder / "dataset_description.json", unknown) ||
         std::all_of(files.begin(), files.end(), is_of_subject);
}

bool ends_like_a_mask(std::string_view stem) {
  return stem.ends_with("_mask") || stem.ends_with("_dseg") || stem.ends_with("_probseg");
}

PlacedFile place_bids(const PathParts& file) {
  const std::size_t subject = place_of_subject(file);
  if (subject == file.folders.size()) return {.patient = "", .passed_over = "in no folder of a subject"};
  PlacedFile placed{.patient = std::string(file.folders[subject])};
  // What was derived of a subject is the same person's: only folders above these tell data sets apart.
  const auto is_derived = [](std::string_view name) {
    return name == "derivatives" || name == "sourcedata" || name == "rawdata";
  };
  const auto end = file.folders.begin() + static_cast<std::ptrdiff_t>(subject);
  placed.above =
      static_cast<std::size_t>(std::find_if(file.folders.begin(), end, is_derived) - file.folders.begin());
  placed.is_label = ends_like_a_mask(file.stem);
  if (placed.is_label) placed.passed_over = "a mask by its name";
  return placed;
}

}  // namespace

const FolderLayout bids_layout = {.name = "bids",
                                  .patients_by = "sub-* folders, those below derivatives with their subject",
                                  .fits = is_bids,
                                  .place = place_bids,
                                  .names_are_unique = false};

}  // namespace larmor
