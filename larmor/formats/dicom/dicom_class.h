// What kind of object a DICOM file holds: an image of a scanner, or something that was made of one.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace larmor {

enum class DicomClass {
  image,
  secondary_capture,
  segmentation,
  dose,
  localizer,
  radiotherapy,
  report,
  presentation,
  document
};

/// Whether the description of a series, which is free text, is taken out of a header.
enum class DicomText { none, description };

/// "a segmentation", for a person.
std::string to_text(DicomClass kind);
/// "segmentation", as a config has it.
std::string word_of(DicomClass kind);
/// The words of all classes.
std::vector<std::string> dicom_class_words();
/// By the header of the file; nothing where it is no DICOM file. Throws Error (data) when it cannot be read.
std::optional<DicomClass> dicom_class_of_file(const std::filesystem::path& path);

}  // namespace larmor
