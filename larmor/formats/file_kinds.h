// The kinds of image files that are read, in one table: the names by which they are found, the first bytes by
// which they are told apart, and how they are opened.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "larmor/formats/dicom/dicom_class.h"
#include "larmor/formats/pictures/picture_reading.h"

namespace larmor {

struct DicomSeries;
struct StoredVolume;

struct FileKind {
  std::string name;                   // as data.kind says it
  std::vector<std::string> suffixes;  // lower case; of files that name a volume, whatever else it is made of
  bool (*looks_like)(std::span<const std::byte> beginning);
  /// As open_volume().
  StoredVolume (*open)(const std::filesystem::path& path, const PictureReading& reading);
};

/// All of them. Files whose beginning says nothing are taken for the last kind, NIfTI, some of which are
/// packed.
const std::vector<FileKind>& file_kinds();
/// Throws std::out_of_range for a name that no kind has.
const FileKind& file_kind(std::string_view name);
/// ".nii, .nii.gz, …": the suffixes of all kinds, for a person.
std::string known_suffixes();
/// The suffix of a file's name that some kind has, as long as possible; empty where none has it.
std::string known_suffix(const std::filesystem::path& file);

/// By content, and for packed files by name. Throws Error (data) when the file cannot be opened.
const FileKind& kind_of_file(const std::filesystem::path& path);
/// Whether the name or the first bytes are those of some kind, or the path names a DICOM series. Throws Error
/// (data) when the file cannot be opened.
bool may_hold_image(const std::filesystem::path& path);
/// Which images of a folder count, where not all do.
struct ImageChoice {
  DicomText texts = DicomText::none;  // what is read of headers for it
  /// `object` is null for what is not DICOM. Empty: every image counts.
  std::function<bool(const std::filesystem::path& image, const DicomSeries* object)> takes = {};
  /// Is told of DICOM objects without pixels, which are no images.
  std::function<void(const std::filesystem::path& file, const DicomSeries& object)> without_pixels = {};
};

/// The images that lie in a folder, sorted, sub-folders and hidden files left out: files with a known suffix,
/// and DICOM series whatever their files are called, each by the path that opens it. Throws Error (data), as
/// find_dicom_series().
std::vector<std::filesystem::path> images_in(const std::filesystem::path& folder,
                                             const ImageChoice& choice = {});

}  // namespace larmor
