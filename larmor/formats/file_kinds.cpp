#include "larmor/formats/file_kinds.h"

#include <algorithm>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/files/regular_file.h"
#include "larmor/base/text.h"
#include "larmor/formats/dicom/dicom.h"
#include "larmor/formats/dicom/dicom_header.h"
#include "larmor/formats/dicom/dicom_scan.h"
#include "larmor/formats/dicom/dicom_series.h"
#include "larmor/formats/gzip.h"
#include "larmor/formats/nifti/nifti.h"
#include "larmor/formats/numpy/numpy_file.h"
#include "larmor/formats/pictures/picture.h"
#include "larmor/formats/stored_volume.h"
#include "larmor/formats/text_header/text_header.h"
#include "larmor/formats/text_header/text_header_volume.h"

namespace larmor {

namespace {

StoredVolume open_nifti_volume(const std::filesystem::path& path, const PictureReading&) {
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

StoredVolume volume_of_array(StoredArray array) {
  StoredVolume volume;
  volume.dtype = to_text(array.format.type);
  volume.array = std::move(array);
  return volume;
}

StoredVolume open_numpy_volume(const std::filesystem::path& path, const PictureReading&) {
  StoredVolume volume = volume_of_array(open_numpy(path));
  volume.channel_is_first = volume.is_bare_array = true;
  return volume;
}

/// The faces of a picture stay where they are, so its pixels move when there are fewer of them.
StoredVolume open_picture_volume(const std::filesystem::path& path, const PictureReading& reading) {
  OpenedPicture picture = open_picture(path, reading);
  StoredVolume volume = volume_of_array(std::move(picture.array));
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const double step =
        static_cast<double>(picture.size[axis]) / static_cast<double>(volume.array.shape[axis]);
    volume.affine[axis][axis] = volume.spacing_mm[axis] = step;
    volume.affine[axis][3] = (step - 1) / 2;
  }
  return volume;
}

StoredVolume open_dicom_volume(const std::filesystem::path& path, const PictureReading&) {
  return open_dicom(path);
}

Bytes beginning_of(const RegularFile& file) {
  constexpr std::size_t enough = 4096;
  Bytes start(enough);
  start.shorten(file.read_at(0, start.view()));
  return start;
}

bool is_named_as_packed_nifti(const std::filesystem::path& path) {
  const std::string name = lower(path.filename().string());
  return name.ends_with(".nii.gz") || name.ends_with(".hdr.gz") || name.ends_with(".img.gz");
}

}  // namespace

const std::vector<FileKind>& file_kinds() {
  static const std::vector<FileKind> kinds{
      {"npz", {".npz", ".npy"}, looks_like_numpy, open_numpy_volume},
      {"picture", {".png", ".jpg", ".jpeg"}, looks_like_picture, open_picture_volume},
      {"dicom", {".dcm", ".dcm.gz"}, looks_like_dicom, open_dicom_volume},
      {"nrrd", {".nrrd", ".nhdr"}, looks_like_nrrd, open_nrrd_volume},
      {"metaimage", {".mha", ".mhd"}, looks_like_metaimage, open_metaimage_volume},
      {"nifti", {".nii", ".nii.gz", ".hdr", ".hdr.gz"}, looks_like_nifti, open_nifti_volume}};
  return kinds;
}

const FileKind& file_kind(std::string_view name) {
  const auto& kinds = file_kinds();
  const auto found = std::ranges::find(kinds, name, &FileKind::name);
  if (found == kinds.end()) throw std::out_of_range("no kind of file has that name");
  return *found;
}

std::string known_suffixes() {
  std::vector<std::string> all;
  for (const auto& kind : file_kinds()) all.insert(all.end(), kind.suffixes.begin(), kind.suffixes.end());
  return join(all, ", ");
}

std::string known_suffix(const std::filesystem::path& file) {
  const std::string name = lower(file.filename().string());
  std::string longest;
  for (const auto& kind : file_kinds()) {
    for (const auto& suffix : kind.suffixes) {
      if (name.ends_with(suffix) && suffix.size() > longest.size()) longest = suffix;
    }
  }
  return longest;
}

const FileKind& kind_of_file(const std::filesystem::path& path) {
  if (names_dicom_series(path)) return file_kind("dicom");
  const RegularFile file = open_regular(path);
  const Bytes start = beginning_of(file);
  for (const auto& kind : file_kinds()) {
    if (kind.looks_like(start.view())) return kind;
  }
  // What packed files hold shows only when they are unpacked, so their usual names are believed.
  if (is_gzip(start.view()) && !is_named_as_packed_nifti(path) && holds_packed_dicom(file))
    return file_kind("dicom");
  return file_kinds().back();
}

bool may_hold_image(const std::filesystem::path& path) {
  if (names_dicom_series(path) || !known_suffix(path).empty()) return true;
  const Bytes start = beginning_of(open_regular(path));
  return is_gzip(start.view()) || std::ranges::any_of(file_kinds(), [&](const FileKind& kind) {
           return kind.looks_like(start.view());
         });
}

std::vector<std::filesystem::path> images_in(const std::filesystem::path& folder, const ImageChoice& choice) {
  std::vector<std::filesystem::path> images;
  const auto take = [&](std::filesystem::path image, const DicomSeries* object) {
    if (!choice.takes || choice.takes(image, object)) images.push_back(std::move(image));
  };
  std::vector<std::string> others;
  const auto& dicom = file_kind("dicom").suffixes;
  std::error_code error;
  for (std::filesystem::directory_iterator items(folder, error);
       !error && items != std::filesystem::directory_iterator(); items.increment(error)) {
    const auto& item = *items;
    const auto name = item.path().filename().string();
    std::error_code unknown;
    if (!item.is_regular_file(unknown) || name.starts_with('.')) continue;
    const auto suffix = known_suffix(item.path());
    const bool is_plain = !suffix.empty() && std::ranges::find(dicom, suffix) == dicom.end();
    if (is_plain) {
      take(item.path(), nullptr);
    } else {
      others.push_back(name);
    }
  }
  if (error) {
    fail(Exit::data, text("cannot read the folder ", folder.string(), ": ", error.message()),
         text("check its permissions: ls -ld ", folder.string()));
  }
  std::ranges::sort(others);
  DicomFolder read = read_dicom_folder(folder, others, choice.texts);
  if (read.fault) throw *std::move(read.fault);
  for (const auto& one : read.series) take(path_of(folder, one, read.series.size() == 1), &one);
  for (const auto& one : read.others)
    if (choice.without_pixels) choice.without_pixels(folder / one.files.front(), one);
  std::ranges::sort(images);
  return images;
}

}  // namespace larmor
