#include "larmor/data/index/modality_cases.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/index/data_folder.h"
#include "larmor/data/index/folder_cases.h"
#include "larmor/data/index/index.h"
#include "larmor/data/layout/laid_out.h"
#include "larmor/formats/file_kinds.h"

namespace larmor {

namespace {

using CasesByPlace = std::map<std::pair<std::string, std::string>, FoundCase>;  // by folder and id

/// With the patient and the split of each, as the layout says.
FoundCases placed_cases(const DataConfig& data, CasesByPlace& cases) {
  std::vector<std::string> names;
  for (const auto& [place, entry] : cases)
    names.push_back(place.first.empty() ? place.second : text(place.first, '/', place.second));
  FoundCases found;
  found.folder = absolute_path(data.folder);
  LaidOut laid_out = lay_out(data, names, {}, found.folder);
  auto place = laid_out.files.begin();
  for (auto& [key, entry] : cases) {
    entry.patient = data.split.by == "file" ? entry.files.begin()->second : std::move(place->patient);
    entry.split = place->split;
    entry.id = key.second;
    if (place->passed_over == nullptr) {
      found.cases.push_back(std::move(entry));
    } else {
      for (const auto& [name, file] : entry.files) found.account.pass_over(place->passed_over, file);
    }
    ++place;
  }
  found.patients_by = data.split.by == "file" ? "each case its own" : laid_out.patients_by;
  found.account.warnings = std::move(laid_out.warnings);
  found.splits_are_folders = true;
  return found;
}

/// Files that are of no modality, and what their names end in.
class NamelessFiles {
 public:
  void add(const std::string& file, const std::string& stem) {
    files_.push_back(file);
    const std::size_t mark = stem.find_last_of("-_.");
    if (mark != std::string::npos && mark > 0) ++endings_[stem.substr(mark)];
  }
  const std::vector<std::string>& files() const { return files_; }
  /// "-flairx (6), -seg (6)": the commonest.
  std::string listed() const {
    constexpr std::size_t most = 8;
    std::vector<std::pair<int64_t, std::string>> sorted;
    for (const auto& [ending, count] : endings_) sorted.emplace_back(-count, ending);
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::string> words;
    for (const auto& [count, ending] : sorted) {
      if (words.size() == most) break;
      words.push_back(text(ending, " (", -count, ')'));
    }
    return join(words, ", ");
  }

 private:
  std::vector<std::string> files_;
  std::map<std::string, int64_t> endings_;
};

// Who goes by splits that are made already takes what there is: a network of several modalities is judged on
// data that lack one, too.
void refuse_missing_modality(const DataConfig& data, FoundCases& found, const NamelessFiles& nameless) {
  const auto cases = static_cast<int64_t>(found.cases.size());
  for (const std::string& modality : ModalityNames(data.modalities).names()) {
    const std::string name = name_of_modality(modality);
    const auto has_it = [&](const FoundCase& entry) { return entry.files.contains(name); };
    const auto count = std::count_if(found.cases.begin(), found.cases.end(), has_it);
    if (count == cases) continue;
    if (count > 0 || !is_image(name) || data.bad_files == any_number_of_files) {
      found.account.warnings.push_back(text(cases - count, " of ", cases, " cases have no ", modality));
      continue;
    }
    const std::string others = nameless.listed();
    fail(Exit::data,
         text("no case has the modality ", modality, ": no name ends as data.modalities says of it (",
              ModalityNames(data.modalities).listed(), ")",
              others.empty() ? "" : text("; names of no modality end in ", others)),
         text("correct its ends in data.modalities, or leave ", modality, " out of it"));
  }
}

}  // namespace

FoundCases cases_of_modalities(const DataConfig& data, const ModalityNames& modalities) {
  NamePatterns patterns;
  for (const FileKind& kind : file_kinds())
    if (kind.name != "dicom")
      patterns.suffixes.insert(patterns.suffixes.end(), kind.suffixes.begin(), kind.suffixes.end());
  FolderScan scan = scan_data_folder(data, patterns);
  CasesByPlace cases;
  NamelessFiles nameless;
  for (const std::string& file : scan.files) {
    const std::filesystem::path path = file;
    const std::string stem = without_suffix(path.filename().string(), patterns);
    const auto match = modalities.match(stem);
    if (!match) {
      nameless.add(file, stem);
      continue;
    }
    const std::string folder = path.parent_path().generic_string();
    FoundCase& entry = cases[{folder, match->id}];
    const auto [known, is_new] = entry.files.emplace(name_of_modality(match->modality), file);
    if (!is_new) {
      fail(Exit::data, text(known->second, " and ", file, " are both the ", match->modality, " of one case"),
           "narrow data.modalities, or leave one of them out with data.exclude");
    }
  }
  if (cases.empty()) {
    fail(Exit::data,
         text("no file in ", data.folder, " ends as data.modalities says: looked for ", modalities.listed(),
              " among ", scan.files.size(), " files"),
         "name the ends of the files' names, before the suffix: data.modalities={t1n: [t1, t1n]}");
  }
  FoundCases found = placed_cases(data, cases);
  found.noun = "case";
  found.channels = modalities.channels();
  found.account.join(std::move(scan.account));
  const std::size_t others = nameless.files().size();
  if (others > 0) {
    found.patients_by += text("; ", others, others == 1 ? " file is" : " files are", " of no modality");
    found.account.passed_over["of no modality of data.modalities"] = nameless.files();
  }
  take_voxels_of_headers(found.folder, scan.files, found.account);
  refuse_missing_modality(data, found, nameless);
  return found;
}

}  // namespace larmor
