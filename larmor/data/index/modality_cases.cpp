#include "larmor/data/index/modality_cases.h"

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/index/data_folder.h"
#include "larmor/data/index/index.h"

namespace larmor {

FoundCases cases_of_modalities(const DataConfig& data, const ModalityNames& modalities) {
  NamePatterns patterns{
      .suffixes = {".nii", ".nii.gz", ".hdr", ".hdr.gz", ".npz", ".npy", ".png", ".jpg", ".jpeg"},
      .include = {},
      .exclude = {}};
  const FolderScan scan = scan_data_folder(data, patterns);
  std::map<std::pair<std::string, std::string>, FoundCase> cases;  // by folder and id
  size_t others = 0;
  for (const std::string& file : scan.files) {
    const std::filesystem::path path = file;
    const auto match = modalities.match(without_suffix(path.filename().string(), patterns));
    if (!match) {
      ++others;
      continue;
    }
    const std::string folder = path.parent_path().generic_string();
    FoundCase& entry = cases[{folder, match->id}];
    const auto [known, is_new] = entry.files.emplace(name_of_modality(match->modality), file);
    if (!is_new) {
      fail(Exit::data, text(known->second, " and ", file, " are both the ", match->modality, " of one case"),
           "narrow data.modalities, or leave one of them out with data.exclude");
    }
    entry.patient = folder.empty() ? match->id : folder.substr(0, folder.find('/'));
  }
  FoundCases found;
  found.folder = absolute_path(data.folder);
  found.noun = "case";
  found.channels = modalities.channels();
  for (auto& [place, entry] : cases) {
    if (data.split.by == "file") entry.patient = entry.files.begin()->second;
    found.cases.push_back(std::move(entry));
  }
  if (found.cases.empty()) {
    fail(Exit::data,
         text("no file in ", data.folder, " ends as data.modalities says: looked for ", modalities.listed(),
              " among ", scan.files.size(), " files"),
         "name the ends of the files' names, before the suffix: data.modalities={t1n: [t1, t1n]}");
  }
  found.patients_by =
      data.split.by == "file" ? "each case its own" : "first sub-folder, a loose case its own";
  if (others > 0)
    found.patients_by += text("; ", others, others == 1 ? " file is" : " files are", " of no modality");
  return found;
}

}  // namespace larmor
