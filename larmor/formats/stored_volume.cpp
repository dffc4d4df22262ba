#include "larmor/formats/stored_volume.h"

#include <cstddef>
#include <system_error>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/formats/dicom/dicom.h"
#include "larmor/formats/dicom/dicom_header.h"
#include "larmor/formats/dicom/dicom_scan.h"
#include "larmor/formats/dicom/dicom_series.h"
#include "larmor/formats/gzip.h"
#include "larmor/formats/nifti/nifti.h"
#include "larmor/formats/numpy/numpy_file.h"
#include "larmor/formats/pictures/picture.h"

namespace larmor {

namespace {

enum class FileKind { nifti, numpy, picture, dicom };

bool ends_like_nifti(const std::filesystem::path& path) {
  const std::string name = lower(path.filename().string());
  return name.ends_with(".nii.gz") || name.ends_with(".hdr.gz") || name.ends_with(".img.gz");
}

FileKind kind_of(const std::filesystem::path& path) {
  if (names_dicom_series(path)) return FileKind::dicom;
  constexpr std::size_t enough = 512;
  const RegularFile file = open_regular(path);
  Bytes start(enough);
  start.shorten(file.read_at(0, start.view()));
  if (looks_like_numpy(start.view())) return FileKind::numpy;
  if (looks_like_picture(start.view())) return FileKind::picture;
  if (looks_like_dicom(start.view())) return FileKind::dicom;
  // What packed files hold shows only when they are unpacked, so their usual names are believed.
  if (is_gzip(start.view()) && !ends_like_nifti(path) && holds_packed_dicom(file)) return FileKind::dicom;
  return FileKind::nifti;
}

StoredVolume from_nifti(const std::filesystem::path& path) {
  OpenedNifti opened = open_nifti(path);
  StoredVolume volume;
  volume.array = std::move(opened.array);
  volume.array.shape = opened.header.shape;
  volume.affine = opened.header.affine;
  volume.spacing_mm = opened.header.pixdim;
  volume.dtype = nifti_code_name(opened.header.datatype);
  volume.problems = std::move(opened.header.problems);
  volume.fault = std::move(opened.header.fault);
  return volume;
}

StoredVolume from_array(StoredArray array, bool is_numpy) {
  StoredVolume volume;
  volume.dtype = to_text(array.format.type);
  volume.array = std::move(array);
  volume.is_numpy = is_numpy;
  return volume;
}

/// The faces of a picture stay where they are, so its pixels move when there are fewer of them.
StoredVolume from_picture(OpenedPicture picture) {
  StoredVolume volume = from_array(std::move(picture.array), false);
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const double step =
        static_cast<double>(picture.size[axis]) / static_cast<double>(volume.array.shape[axis]);
    volume.affine[axis][axis] = volume.spacing_mm[axis] = step;
    volume.affine[axis][3] = (step - 1) / 2;
  }
  return volume;
}

}  // namespace

StoredVolume open_volume(const std::filesystem::path& path, const PictureReading& reading) {
  switch (kind_of(path)) {
    case FileKind::numpy:
      return from_array(open_numpy(path), true);
    case FileKind::picture:
      return from_picture(open_picture(path, reading));
    case FileKind::dicom:
      return open_dicom(path);
    case FileKind::nifti:
      break;
  }
  return from_nifti(path);
}

bool holds_nifti(const std::filesystem::path& path) { return kind_of(path) == FileKind::nifti; }

}  // namespace larmor
