#include "larmor/data/index/dicom_cases.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/index/data_folder.h"
#include "larmor/data/index/folder_cases.h"
#include "larmor/formats/dicom/dicom_series.h"
#include "larmor/formats/file_kinds.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;

/// What a folder's files make up.
struct DicomFolder {
  std::vector<DicomSeries> series;
  std::vector<std::string> bad;       // that are in no series
  std::vector<std::string> held_bad;  // to be of the folder's series
};

// A header that cannot be read does not say which series it belongs to. Where the folder has a series of
// slices it is taken for one of those: who reads the series meets it, too, and refuses it. Anywhere else it
// is a case of its own, for the list of bad files.
DicomFolder look_into(const fs::path& folder, const std::vector<std::string>& names) {
  DicomFolder found;
  std::vector<std::string> files;
  for (const std::string& name : names) {
    std::error_code error;
    (fs::is_regular_file(folder / name, error) ? files : found.bad).push_back(name);
  }
  try {
    found.series = find_dicom_series(folder, files);
    return found;
  } catch (const Error& error) {
    if (error.exit() != Exit::data) throw;
  }
  std::vector<std::string> readable, damaged;
  for (const std::string& name : files) {
    try {
      find_dicom_series(folder, {name});
      readable.push_back(name);
    } catch (const Error& error) {
      if (error.exit() != Exit::data) throw;
      damaged.push_back(name);
    }
  }
  found.series = find_dicom_series(folder, readable);
  const bool has_slices = std::any_of(found.series.begin(), found.series.end(),
                                      [](const DicomSeries& one) { return one.files.size() > 1; });
  auto& list = has_slices ? found.held_bad : found.bad;
  list.insert(list.end(), damaged.begin(), damaged.end());
  return found;
}

std::string case_of(const std::string& folder, const DicomSeries& series, const DicomFolder& found) {
  const fs::path path = path_of(folder, series, found.series.size() == 1);
  return path.empty() ? "." : path.generic_string();
}

/// Says of every file of a folder which series it is of, or why it is of none.
void account_for(const std::string& folder, const std::vector<std::string>& names, const DicomFolder& found,
                 FileAccount& account) {
  std::set<std::string> known(found.bad.begin(), found.bad.end());
  const auto path_to = [&](const std::string& name) { return (fs::path(folder) / name).generic_string(); };
  for (const DicomSeries& one : found.series) {
    const std::string of = case_of(folder, one, found);
    for (const std::string& name : one.files) {
      known.insert(name);
      if (path_to(name) != of) account.parts.emplace_back(path_to(name), of);
    }
  }
  for (const std::string& name : found.held_bad) {
    known.insert(name);
    account.parts.emplace_back(path_to(name), case_of(folder, found.series.front(), found));
  }
  for (const std::string& name : names)
    if (!known.contains(name)) account.pass_over("no DICOM image that makes a volume", path_to(name));
}

}  // namespace

// Slices that belong together are a case; what they are called tells nothing.
FoundCases cases_of_dicom(const DataConfig& data) {
  NamePatterns patterns{.suffixes = {""}, .include = {}, .exclude = {}};
  FolderScan scan = scan_data_folder(data, patterns);
  const fs::path root = absolute_path(data.folder);
  std::map<std::string, std::vector<std::string>> folders;
  for (const std::string& file : scan.files) {
    const fs::path path = file;
    folders[path.parent_path().generic_string()].push_back(path.filename().string());
  }
  std::vector<FoundVolume> places;
  for (const auto& [folder, names] : folders) {
    const auto found = look_into(root / folder, names);
    account_for(folder, names, found, scan.account);
    for (const DicomSeries& one : found.series)
      places.push_back(
          {case_of(folder, one, found), (fs::path(folder) / one.files.front()).generic_string()});
    for (const std::string& name : found.bad) {
      const std::string path = (fs::path(folder) / name).generic_string();
      places.push_back({path, path});
    }
  }
  if (places.empty()) {
    fail(Exit::data, text("no DICOM images in ", data.folder, ": looked into ", scan.files.size(), " files"),
         "check data.folder and data.kind");
  }
  return cases_of_places(data, {.suffixes = file_kind("dicom").suffixes, .include = {}, .exclude = {}},
                         places, std::move(scan.account));
}

}  // namespace larmor
