#include "larmor/data/index/find_cases.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <system_error>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/bad_file.h"
#include "larmor/data/index/case_list.h"
#include "larmor/data/index/data_folder.h"
#include "larmor/data/index/dicom_cases.h"
#include "larmor/data/index/exclude_list.h"
#include "larmor/data/index/folder_cases.h"
#include "larmor/data/index/modality_names.h"
#include "larmor/formats/bytes.h"
#include "larmor/formats/dicom/dicom_series.h"
#include "larmor/formats/file_kinds.h"
#include "larmor/formats/volume_files.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;

uint64_t size_of_folder(const fs::path& folder) {
  std::error_code error;
  uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_regular_file(error)) bytes += entry.file_size(error);
  }
  return bytes;
}

// Of the file, and of the voxels that belong to a header file; of a DICOM series that of its folder.
std::optional<uint64_t> size_of(const fs::path& path) {
  std::error_code error;
  const fs::path file = place_of(path);
  if (fs::is_directory(file, error)) return size_of_folder(file);
  if (!fs::is_regular_file(file, error)) return std::nullopt;
  uint64_t bytes = 0;
  for (const fs::path& one : files_of_volume(file)) {
    const auto size = fs::file_size(one, error);
    if (error && one == file) return std::nullopt;
    bytes += error ? 0 : size;
  }
  return bytes;
}

// What is missing stays a case: whoever checks or reads it says so, and goes on where data.bad_files allows
// it.
void measure(FoundCases& found, int64_t bad_files) {
  std::vector<BadFile> missing;
  int64_t files = 0;
  for (FoundCase& entry : found.cases) {
    for (const auto& [name, file] : entry.files) {
      const auto bytes = size_of(found.folder / file);
      if (!bytes) missing.push_back({file, "is not there, or is no file"});
      entry.bytes += bytes.value_or(0);
      ++files;
    }
  }
  const auto budget = bad_file_budget(bad_files, static_cast<int64_t>(found.cases.size()));
  if (!are_too_many(static_cast<int64_t>(missing.size()), budget, files)) return;
  fail(Exit::data,
       text(missing.size(), missing.size() == 1 ? " file is" : " files are", " missing below ",
            found.folder.string(), ":", listing(missing, missing.size())),
       "put them back, or take them out with data.exclude");
}

void sort_by_path(FoundCases& found) {
  std::stable_sort(found.cases.begin(), found.cases.end(),
                   [](const FoundCase& left, const FoundCase& right) { return left.files < right.files; });
}

// What all paths have in common, when they do not all lie in `wished`.
fs::path common_folder(const std::vector<fs::path>& files, const fs::path& wished) {
  fs::path folder = wished;
  for (const fs::path& file : files) {
    while (std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first != folder.end()) {
      folder = folder.parent_path();
    }
  }
  return folder;
}

void refuse_missing_patients(const DataConfig& data, const std::vector<ListedCase>& listed) {
  const auto lacks = [](const ListedCase& entry) { return entry.patient.empty(); };
  const auto missing = std::count_if(listed.begin(), listed.end(), lacks);
  if (missing == 0) return;
  const auto first = std::find_if(listed.begin(), listed.end(), lacks);
  fail(Exit::data,
       text(data.list, " does not say whose ", missing, missing == 1 ? " case is" : " cases are",
            " (first: ", first->place, "), so the splits could share patients"),
       "add a column patient (in JSON a key), or say data.split.by=file if each case is another patient's");
}

// As data.modalities says, otherwise as the list first names them.
std::vector<std::string> declared_channels(const DataConfig& data, const std::vector<ListedCase>& listed) {
  std::vector<std::string> channels = ModalityNames(data.modalities).channels();
  for (const ListedCase& entry : listed) {
    for (const std::string& modality : entry.modalities) {
      if (std::find(channels.begin(), channels.end(), modality) == channels.end())
        channels.push_back(modality);
    }
  }
  return channels;
}

FoundCases cases_of_list(const DataConfig& data, const std::vector<ListedCase>& listed) {
  if (data.split.by != "file") refuse_missing_patients(data, listed);
  const fs::path base =
      absolute_path(data.folder.empty() ? fs::absolute(data.list).parent_path() : fs::path(data.folder));
  std::vector<fs::path> files;
  for (const ListedCase& entry : listed) {
    for (const auto& [name, file] : entry.files) files.push_back((base / file).lexically_normal());
  }
  FoundCases found;
  found.folder = common_folder(files, base);
  found.noun = "case";
  found.channels = declared_channels(data, listed);
  found.patients_by = data.split.by == "file" ? "each case its own"
                                              : text("as ", fs::path(data.list).filename().string(), " says");
  const NamePatterns patterns{.suffixes = {}, .include = data.include, .exclude = data.exclude};
  for (const ListedCase& entry : listed) {
    FoundCase next{.files = {},
                   .patient = entry.patient,
                   .bytes = 0,
                   .label = entry.label,
                   .split = entry.split,
                   .values = entry.values};
    for (const auto& [name, file] : entry.files) {
      next.files[name] = (base / file).lexically_normal().lexically_relative(found.folder).generic_string();
    }
    const std::string& first = next.files.begin()->second;
    if (data.split.by == "file") next.patient = first;
    if (patterns.wants(first)) {
      found.cases.push_back(std::move(next));
      continue;
    }
    for (const auto& [name, file] : next.files)
      found.account.pass_over("left out by data.include or data.exclude", file);
  }
  if (found.cases.empty()) {
    fail(Exit::data, text("all ", listed.size(), " cases of ", data.list, " are passed over"),
         "loosen data.include or data.exclude");
  }
  return found;
}

FoundCases phantom_cases(const DataConfig& data) {
  if (data.phantom_size.size() != 3) {
    fail(Exit::usage, text("data.phantom_size has ", data.phantom_size.size(), " numbers"),
         "give three, for instance [64, 64, 64]");
  }
  uint64_t bytes = sizeof(float);
  std::vector<std::string> sizes;
  for (const int64_t size : data.phantom_size) {
    if (size < 1 || size > 4096)
      fail(Exit::usage, text("data.phantom_size holds ", size), "give sizes from 1 to 4096");
    bytes *= static_cast<uint64_t>(size);
    sizes.push_back(text(size));
  }
  if (data.phantom_cases < 1) fail(Exit::data, "data.phantom_cases is 0", "ask for one at least");
  std::vector<ListedCase> invented;
  const size_t digits = std::max<size_t>(4, text(data.phantom_cases - 1).size());
  for (int64_t i = 0; i < data.phantom_cases; ++i) {
    std::string number = text(i);
    number.insert(0, digits - number.size(), '0');
    const std::string file =
        text("phantom-", number, " (", join(sizes, " x "), ", seed ", data.phantom_seed, ")");
    invented.push_back({.place = file,
                        .files = {{"image", file}},
                        .patient = text("phantom-", number),
                        .label = {},
                        .split = {}});
  }
  return invented_cases(invented, bytes);
}

FoundCases found_by_kind(const DataConfig& data) {
  const std::array<std::string_view, 5> of_files = {"nifti", "nrrd", "metaimage", "npz", "picture"};
  if (std::ranges::find(of_files, data.kind) != of_files.end()) {
    return cases_of_folder(data, {.suffixes = file_kind(data.kind).suffixes, .include = {}, .exclude = {}});
  }
  if (data.kind == "dicom") return cases_of_dicom(data);
  if (data.kind == "list") {
    if (data.list.empty()) fail(Exit::data, "data.list is not set", "say which list: data.list=FILE");
    return cases_of_list(data, read_case_list(data.list));
  }
  fail(Exit::usage, text("data.kind ", data.kind, " is not known"),
       "nifti, nrrd, metaimage, npz, dicom, picture, list and phantom are");
}

FoundCases measured(FoundCases found, const DataConfig& data) {
  leave_out_listed(found, data);
  sort_by_path(found);
  measure(found, data.bad_files);
  return found;
}

}  // namespace

FoundCases find_cases(const DataConfig& data) {
  if (!data.modalities.is_null() && (data.kind == "phantom" || data.kind == "dicom")) {
    fail(Exit::usage, text("data.modalities tells files by their names, and data.kind is ", data.kind),
         "data.modalities is for folders of nifti, nrrd, metaimage, npz and picture files, and orders the "
         "columns of a "
         "list");
  }
  if (data.kind == "phantom") return phantom_cases(data);
  return measured(found_by_kind(data), data);
}

FoundCases find_listed_cases(const DataConfig& data, const std::vector<ListedCase>& listed) {
  return measured(cases_of_list(data, listed), data);
}

FoundCases invented_cases(const std::vector<ListedCase>& invented, uint64_t bytes_of_each) {
  FoundCases found;
  found.noun = "phantom";
  found.patients_by = "each its own";
  for (const ListedCase& entry : invented) {
    found.cases.push_back({.files = entry.files,
                           .patient = entry.patient,
                           .bytes = bytes_of_each,
                           .label = entry.label,
                           .split = entry.split,
                           .values = entry.values});
  }
  return found;
}

}  // namespace larmor
