// What a folder of DICOM files holds, and how one of its series is named.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/formats/dicom/dicom_class.h"

namespace larmor {

/// Files that make one volume: the slices of a series, or one file that is a volume or a picture by itself.
struct DicomSeries {
  std::string uid;                 // SeriesInstanceUID: digits and dots
  std::vector<std::string> files;  // names in the folder, sorted
  DicomClass kind = DicomClass::image;
  /// What tells slices from others of this UID in the folder: the number of an echo, a word of their class.
  std::string part = "";
  std::string modality = "", number = "", echo = "";  // as its first file says; empty where it does not
  std::string description = "";                       // where it is wanted
  int64_t slices = 1;                                 // files or frames
  bool is_placed = false;                             // in the body: a slice, and no radiograph
  std::vector<std::string> copies = {};               // files that are left out, each equal to one of `files`

  /// As it stands behind the folder and a `#`.
  std::string name() const;
};

/// What the files of a folder are, each in one place; files that are not DICOM in none.
struct DicomFolder {
  std::vector<DicomSeries> series = {};   // sorted by first file
  std::vector<DicomSeries> others = {};   // objects without pixels: reports, contours
  std::vector<std::string> damaged = {};  // files whose headers cannot be read
  std::optional<Error> fault = {};        // of the first of them
};

/// Reads each header once. A series whose slices lie at one place by several echoes is one of each echo;
/// slices of several classes are several, too.
DicomFolder read_dicom_folder(const std::filesystem::path& folder, const std::vector<std::string>& names,
                              DicomText texts = DicomText::none);
/// What the named files of a folder hold, sorted by first file. Files that are not DICOM, or hold no image
/// (reports, DICOMDIR), are passed over. Throws Error (data), naming the file, when one is damaged.
std::vector<DicomSeries> find_dicom_series(const std::filesystem::path& folder,
                                           const std::vector<std::string>& names);
/// The path by which open_dicom finds that one: a file, the folder when nothing else is in it, or
/// `folder#uid`, with `-part` behind it where the folder has several parts of that UID.
std::filesystem::path path_of(const std::filesystem::path& folder, const DicomSeries& series, bool alone);

/// Whether the path is a folder, or says which series of one.
bool names_dicom_series(const std::filesystem::path& path);
/// The folder or the file that must be there.
std::filesystem::path place_of(const std::filesystem::path& path);

struct DicomSlices {
  std::filesystem::path folder;
  std::vector<std::string> files;  // in no order of space
  std::vector<std::string> copies = {};
};

/// The files of the one series that the path names. Throws Error (data) when a folder holds none or several,
/// naming them, or not the one that is asked for.
DicomSlices choose_dicom_series(const std::filesystem::path& path);

}  // namespace larmor
