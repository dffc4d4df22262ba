#include "larmor/data/index/folder_cases.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/index/data_folder.h"
#include "larmor/data/index/mask_names.h"
#include "larmor/data/index/modality_cases.h"
#include "larmor/data/index/modality_names.h"
#include "larmor/data/layout/laid_out.h"
#include "larmor/formats/volume_files.h"

namespace larmor {
namespace {

[[noreturn]] void refuse_all_passed_over(const DataConfig& data, const FileAccount& account) {
  std::vector<std::string> reasons;
  for (const auto& [reason, files] : account.passed_over)
    reasons.push_back(
        text(files.size(), files.size() == 1 ? " is " : " are ", reason, " (", files.front(), ")"));
  fail(Exit::data,
       text("no file below ", data.folder, " is an image of the layout ", data.layout, ": ",
            join(reasons, ", ")),
       "say data.layout=none, which takes every file of the kind");
}

// A mask among images is learned like one, and nothing else shows it.
void warn_of_masks(FoundCases& found) {
  int64_t masks = 0;
  std::string first;
  for (const FoundCase& entry : found.cases) {
    const std::string& file = entry.files.begin()->second;
    if (!is_called_like_a_mask(file)) continue;
    if (masks++ == 0) first = file;
  }
  if (masks == 0) return;
  found.account.warnings.push_back(
      text(masks, masks == 1 ? " image is" : " images are", " called like masks (", first,
           "): data.exclude leaves them out, data.modalities makes them a case's label or mask"));
}

}  // namespace

void take_voxels_of_headers(const std::filesystem::path& folder, const std::vector<std::string>& files,
                            FileAccount& account) {
  std::map<std::string, std::string> headers;  // by the file of their voxels
  for (const std::string& file : files) {
    if (!may_be_header(file)) continue;
    for (const auto& part : files_of_volume(folder / file)) {
      const std::string name = part.lexically_relative(folder).generic_string();
      if (name != file) headers.emplace(name, file);
    }
  }
  if (headers.empty()) return;
  for (auto& [reason, others] : account.passed_over) {
    std::erase_if(others, [&](const std::string& other) {
      const auto header = headers.find(other);
      if (header == headers.end()) return false;
      account.parts.emplace_back(other, header->second);
      return true;
    });
  }
  std::erase_if(account.passed_over, [](const auto& entry) { return entry.second.empty(); });
}

FoundCases cases_of_places(const DataConfig& data, const NamePatterns& patterns,
                           const std::vector<FoundVolume>& places, FileAccount account) {
  FoundCases found;
  found.folder = absolute_path(data.folder);
  found.account = std::move(account);
  std::vector<std::string> names;
  for (const auto& [path, file] : places) names.push_back(file.find('/') == std::string::npos ? path : file);
  LaidOut laid_out = lay_out(data, names, patterns, found.folder);
  for (std::size_t i = 0; i < places.size(); ++i) {
    auto& place = laid_out.files[i];
    if (place.passed_over != nullptr) {
      found.account.pass_over(place.passed_over, places[i].path);
      continue;
    }
    found.cases.push_back({.files = {{"image", places[i].path}},
                           .patient = data.split.by == "file" ? places[i].path : std::move(place.patient),
                           .bytes = 0,
                           .label = {},
                           .split = place.split});
  }
  if (found.cases.empty()) refuse_all_passed_over(data, found.account);
  found.patients_by = data.split.by == "file" ? "each file its own" : laid_out.patients_by;
  found.account.warnings.insert(found.account.warnings.end(), laid_out.warnings.begin(),
                                laid_out.warnings.end());
  found.splits_are_folders = true;
  warn_of_masks(found);
  return found;
}

FoundCases cases_of_folder(const DataConfig& data, NamePatterns patterns) {
  const ModalityNames modalities(data.modalities);
  if (!modalities.empty()) return cases_of_modalities(data, modalities);
  FolderScan scan = scan_data_folder(data, patterns);
  take_voxels_of_headers(absolute_path(data.folder), scan.files, scan.account);
  std::vector<FoundVolume> places;
  for (const std::string& file : scan.files) places.push_back({file, file});
  return cases_of_places(data, patterns, places, std::move(scan.account));
}

}  // namespace larmor
