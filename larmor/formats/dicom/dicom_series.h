// What a folder of DICOM files holds, and how one of its series is named.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "larmor/formats/dicom/dicom_class.h"

namespace larmor {

/// Files that make one volume: the slices of a series, or one file that is a volume or a picture by itself.
struct DicomSeries {
  std::string uid;                 // SeriesInstanceUID: digits and dots
  std::vector<std::string> files;  // names in the folder, sorted
  DicomClass kind = DicomClass::image;
};

/// What the named files of a folder hold, sorted by first file. Files that are not DICOM, or hold no image
/// (reports, DICOMDIR), are passed over. Throws Error (data), naming the file, when one is damaged.
std::vector<DicomSeries> find_dicom_series(const std::filesystem::path& folder,
                                           const std::vector<std::string>& names);
/// The path by which open_dicom finds that one: a file, the folder when nothing else is in it, or
/// `folder#uid`.
std::filesystem::path path_of(const std::filesystem::path& folder, const DicomSeries& series, bool alone);

/// Whether the path is a folder, or says which series of one.
bool names_dicom_series(const std::filesystem::path& path);
/// The folder or the file that must be there.
std::filesystem::path place_of(const std::filesystem::path& path);

struct DicomSlices {
  std::filesystem::path folder;
  std::vector<std::string> files;  // in no order of space
};

/// The files of the one series that the path names. Throws Error (data) when a folder holds none or several,
/// naming them, or not the one that is asked for.
DicomSlices choose_dicom_series(const std::filesystem::path& path);

}  // namespace larmor
