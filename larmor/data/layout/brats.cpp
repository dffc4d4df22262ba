// Source: the names of the BraTS challenges. 2023 and later: BraTS-GLI-00000-000, where the last number
// counts the time points of the patient before it. 2018 to 2021: BraTS20_Training_001, BraTS2021_00000,
// Brats18_TCIA01_231_1.
#include <algorithm>

#include "larmor/base/text.h"
#include "larmor/data/layout/layout.h"

namespace larmor {
namespace {

constexpr std::string_view brats_challenge = "brats";

/// The words of a name and what it is up to the end of each.
struct NamePart {
  std::string_view word, up_to;
};

std::vector<NamePart> name_parts_of(std::string_view name, char separator) {
  std::vector<NamePart> words;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find(separator, begin), name.size());
    words.push_back({name.substr(begin, end - begin), name.substr(0, end)});
    begin = end + 1;
  }
  return words;
}

/// BraTS-<task>-<number>, of BraTS-<task>-<number>-<time point>-<modality>.
std::string_view patient_of_dashes(std::string_view name) {
  constexpr std::size_t least_digits = 4;
  const auto words = name_parts_of(name, '-');
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (is_all_digits(words[i].word) && words[i].word.size() >= least_digits) return words[i].up_to;
  }
  return {};
}

/// What stands up to the last word that is a number: BraTS20_Training_001 of BraTS20_Training_001_t1.
std::string_view patient_of_underscores(std::string_view name) {
  const auto words = name_parts_of(name, '_');
  const auto last = std::find_if(words.rbegin(), words.rend(),
                                 [](const NamePart& word) { return is_all_digits(word.word); });
  const bool is_one =
      is_all_digits(words.front().word.substr(brats_challenge.size())) && last != words.rend();
  return is_one ? last->up_to : std::string_view{};
}

/// Whom a folder or file is of; empty where it is called otherwise.
std::string_view patient_in(std::string_view name) {
  if (name.size() <= brats_challenge.size() ||
      lower(name.substr(0, brats_challenge.size())) != brats_challenge)
    return {};
  return name[brats_challenge.size()] == '-' ? patient_of_dashes(name) : patient_of_underscores(name);
}

PlacedFile place_brats(const PathParts& file) {
  PlacedFile placed;
  for (std::size_t i = 0; i <= file.folders.size() && placed.patient.empty(); ++i) {
    placed.patient = patient_in(i < file.folders.size() ? file.folders[i] : file.stem);
    placed.above = i;
  }
  const std::string stem = lower(file.stem);
  placed.is_label = stem.ends_with("-seg") || stem.ends_with("_seg") || stem.ends_with("-gtv");
  if (placed.is_label) placed.passed_over = "a segmentation by its name";
  return placed;
}

bool is_brats(const std::vector<PathParts>& files, const std::filesystem::path&) {
  const auto named = std::count_if(files.begin(), files.end(),
                                   [](const PathParts& file) { return !place_brats(file).patient.empty(); });
  return 2 * named > static_cast<std::ptrdiff_t>(files.size());
}

}  // namespace

const FolderLayout brats_layout = {.name = "brats",
                                   .patients_by = "BraTS names, time points with their patient",
                                   .fits = is_brats,
                                   .place = place_brats,
                                   .names_are_unique = true};

}  // namespace larmor
