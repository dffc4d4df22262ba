// What a file or a DICOM series holds, before its voxels become numbers: the one form that all readers give.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "larmor/formats/affine.h"
#include "larmor/formats/pictures/picture_reading.h"
#include "larmor/formats/stored_array.h"

namespace larmor {

struct StoredVolume {
  StoredArray array;              // its shape is there even when its voxels are not
  bool channel_is_first = false;  // of four axes; otherwise the fourth
  bool is_bare_array = false;     // of NumPy, which names no axes
  Affine affine = identity_affine();
  std::array<double, 3> spacing_mm = {1, 1, 1};
  std::string dtype;                  // as stored, before scaling
  std::vector<std::string> problems;  // warnings
  std::string fault, hint;            // why no voxels can be given, and what to do; empty when they can
};

/// Told by content: NIfTI, NRRD, MetaImage, .npy, .npz, PNG, JPEG, a DICOM file, a folder with one DICOM
/// series or `folder#SeriesInstanceUID`. What is wrong with the voxels stands in `fault`; throws Error (data)
/// when not even a header can be read. The path is the caller's to add.
StoredVolume open_volume(const std::filesystem::path& path, const PictureReading& reading = {});

/// Whether write_nifti can keep this file's header.
bool holds_nifti(const std::filesystem::path& path);

}  // namespace larmor
