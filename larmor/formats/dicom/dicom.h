// Volumes and pictures from DICOM: one file, or the slices of a series.
#pragma once

#include <filesystem>

#include "larmor/formats/stored_volume.h"

namespace larmor {

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
