// Source: MIMIC-CXR 2.0.0: files/p10/p10000032/s50414267/<image>. Folders p10 hold the patients whose number
// begins so.
#include <algorithm>

#include "larmor/data/layout/layout.h"

namespace larmor {
namespace {

bool is_numbered(std::string_view name, char letter, std::size_t digits) {
  return name.size() == digits + 1 && name.front() == letter && is_all_digits(name.substr(1));
}

PlacedFile place_mimic_cxr(const PathParts& file) {
  constexpr std::size_t digits_of_patient = 8, digits_of_study = 8;
  for (std::size_t i = 0; i + 1 < file.folders.size(); ++i) {
    if (is_numbered(file.folders[i], 'p', digits_of_patient) &&
        is_numbered(file.folders[i + 1], 's', digits_of_study)) {
      return {.patient = std::string(file.folders[i]), .above = i > 0 ? i - 1 : 0};
    }
  }
  return {};
}

bool is_mimic_cxr(const std::vector<PathParts>& files, const std::filesystem::path&) {
  const auto named = std::count_if(files.begin(), files.end(), [](const PathParts& file) {
    return !place_mimic_cxr(file).patient.empty();
  });
  return 2 * named > static_cast<std::ptrdiff_t>(files.size());
}

}  // namespace

const FolderLayout mimic_cxr_layout = {.name = "mimic_cxr",
                                       .patients_by = "p* folders above studies (s*)",
                                       .fits = is_mimic_cxr,
                                       .place = place_mimic_cxr,
                                       .names_are_unique = true};

}  // namespace larmor
