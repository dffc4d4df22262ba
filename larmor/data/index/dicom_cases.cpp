#include "larmor/data/index/dicom_cases.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/index/data_folder.h"
#include "larmor/data/index/dicom_filters.h"
#include "larmor/data/index/folder_cases.h"
#include "larmor/formats/dicom/dicom_series.h"
#include "larmor/formats/file_kinds.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;

/// The objects of one folder after the other, as cases or in the account.
class DicomCases {
 public:
  DicomCases(const DataConfig& data, FileAccount account)
      : root_(absolute_path(data.folder)), filters_(data.dicom), account_(std::move(account)) {}

  void enter(const std::string& folder, const std::vector<std::string>& names) {
    std::vector<std::string> files, bad;
    for (const std::string& name : names) {
      std::error_code error;
      (fs::is_regular_file(root_ / folder / name, error) ? files : bad).push_back(name);
    }
    const DicomFolder read = read_dicom_folder(root_ / folder, files, filters_.texts());
    std::set<std::string> known(bad.begin(), bad.end());
    known.insert(read.damaged.begin(), read.damaged.end());
    std::optional<std::string> of_slices;
    for (const DicomSeries& one : read.series) {
      known.insert(one.files.begin(), one.files.end());
      known.insert(one.copies.begin(), one.copies.end());
      const fs::path path = path_of(folder, one, read.series.size() == 1);
      const std::string name = path.empty() ? "." : path.generic_string();
      if (take(folder, one, name) && one.files.size() > 1 && !of_slices) of_slices = name;
    }
    for (const DicomSeries& one : read.others) {
      known.insert(one.files.front());
      account_.pass_over(DicomFilters::word_without_pixels(one), below(folder, one.files.front()));
    }
    for (const std::string& name : names)
      if (!known.contains(name)) account_.pass_over("no DICOM file", below(folder, name));
    hold(folder, read.damaged, of_slices);
    hold(folder, bad, std::nullopt);
  }

  const std::vector<FoundVolume>& places() const { return places_; }

  FileAccount finish(const DataConfig& data) {
    filters_.check_values(data.folder);
    if (slices_ > 0 && data.dicom.min_slices < 2) {
      account_.warnings.push_back(text(slices_, slices_ == 1 ? " case is" : " cases are",
                                       " of a single slice (", first_slice_,
                                       "): data.dicom.min_slices=2 leaves such out"));
    }
    if (segmentations_ > 0) {
      account_.warnings.push_back(text(segmentations_, segmentations_ == 1 ? " image is" : " images are",
                                       " segmentations by their class: data.dicom.class asks for them"));
    }
    return std::move(account_);
  }

 private:
  static std::string below(const std::string& folder, const std::string& name) {
    return (fs::path(folder) / name).generic_string();
  }

  /// Whether the series is a case.
  bool take(const std::string& folder, const DicomSeries& one, const std::string& name) {
    for (const std::string& copy : one.copies)
      account_.pass_over("a copy of another file of its series", below(folder, copy));
    const std::string refusal = filters_.refusal(one);
    for (const std::string& file : one.files) {
      const std::string path = below(folder, file);
      if (!refusal.empty()) {
        account_.pass_over(refusal, path);
      } else if (path != name) {
        account_.parts.emplace_back(path, name);
      }
    }
    if (!refusal.empty()) return false;
    places_.push_back({name, below(folder, one.files.front())});
    if (one.is_placed && one.slices == 1 && slices_++ == 0) first_slice_ = name;
    segmentations_ += one.kind == DicomClass::segmentation ? 1 : 0;
    return true;
  }

  /// A header that cannot be read does not say which series it belongs to. Where the folder has a series of
  /// slices it is taken for one of those: who reads the series meets it, too, and refuses it. Anywhere else
  /// it is a case of its own, for the list of bad files.
  void hold(const std::string& folder, const std::vector<std::string>& damaged,
            const std::optional<std::string>& series) {
    for (const std::string& name : damaged) {
      const std::string path = below(folder, name);
      if (series) {
        account_.parts.emplace_back(path, *series);
      } else {
        places_.push_back({path, path});
      }
    }
  }

  const fs::path root_;
  DicomFilters filters_;
  FileAccount account_;
  std::vector<FoundVolume> places_;
  int64_t slices_ = 0, segmentations_ = 0;
  std::string first_slice_;
};

}  // namespace

// Slices that belong together are a case; what they are called tells nothing.
FoundCases cases_of_dicom(const DataConfig& data) {
  NamePatterns patterns{.suffixes = {""}, .include = {}, .exclude = {}};
  FolderScan scan = scan_data_folder(data, patterns);
  std::map<std::string, std::vector<std::string>> folders;
  for (const std::string& file : scan.files) {
    const fs::path path = file;
    folders[path.parent_path().generic_string()].push_back(path.filename().string());
  }
  DicomCases cases(data, std::move(scan.account));
  for (const auto& [folder, names] : folders) cases.enter(folder, names);
  FileAccount account = cases.finish(data);
  if (cases.places().empty()) {
    fail(Exit::data, text("no DICOM images in ", data.folder, ": looked into ", scan.files.size(), " files"),
         "check data.folder and data.kind");
  }
  return cases_of_places(data, {.suffixes = file_kind("dicom").suffixes, .include = {}, .exclude = {}},
                         cases.places(), std::move(account));
}

}  // namespace larmor
