// DICOM: one file, or a folder whose files are the slices of a volume.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "larmor/data/stored_volume.h"

namespace larmor {

/// Files that make one volume: the slices of a series, or one file that is a volume or a picture by itself.
struct DicomSeries {
  std::string uid;                 // SeriesInstanceUID: digits and dots
  std::vector<std::string> files;  // names in the folder, sorted
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

/// A file: [columns, rows], with frames [columns, rows, frames]; a series: [columns, rows, slices], sorted
/// along the normal of the slices. Colours become a fourth axis. Values are rescaled (in CT: HU); radiographs
/// go through their window. The affine is in RAS millimetres, as a NIfTI file's. Throws Error (data) when a
/// folder holds no series or several (naming them), or a file is none; what else is wrong stands in `fault`.
StoredVolume open_dicom(const std::filesystem::path& path);
/// The same of one file's bytes.
StoredVolume parse_dicom_volume(Bytes bytes);
/// Whether headers promise a volume and files are as long as they say. Reads no pixels; false says nothing.
bool dicom_looks_sound(const std::filesystem::path& path);

}  // namespace larmor
