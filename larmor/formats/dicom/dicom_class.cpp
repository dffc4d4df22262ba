#include "larmor/formats/dicom/dicom_class.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "larmor/formats/dicom/dicom_header.h"

namespace larmor {

namespace {

struct ClassOfUid {
  std::string_view prefix;
  DicomClass kind;
};

/// Below 1.2.840.10008.5.1.4.1.1: a class, or all below a point. Source: DICOM PS3.4 B.5.
constexpr std::array classes{
    ClassOfUid{"66.4", DicomClass::segmentation}, ClassOfUid{"66.5", DicomClass::segmentation},
    ClassOfUid{"66.7", DicomClass::segmentation}, ClassOfUid{"481.2", DicomClass::dose},
    ClassOfUid{"481.", DicomClass::radiotherapy}, ClassOfUid{"88.", DicomClass::report},
    ClassOfUid{"11.", DicomClass::presentation},  ClassOfUid{"104.", DicomClass::document}};

struct ClassOfModality {
  std::string_view modality;
  DicomClass kind;
};

constexpr std::array modalities{ClassOfModality{"SEG", DicomClass::segmentation},
                                ClassOfModality{"RTDOSE", DicomClass::dose},
                                ClassOfModality{"RTSTRUCT", DicomClass::radiotherapy},
                                ClassOfModality{"RTPLAN", DicomClass::radiotherapy},
                                ClassOfModality{"SR", DicomClass::report},
                                ClassOfModality{"KO", DicomClass::report},
                                ClassOfModality{"PR", DicomClass::presentation},
                                ClassOfModality{"DOC", DicomClass::document}};

struct NameOfClass {
  DicomClass kind;
  std::string_view word, text;
};

constexpr std::array names{
    NameOfClass{DicomClass::image, "image", "an image"},
    NameOfClass{DicomClass::secondary_capture, "secondary_capture", "a secondary capture"},
    NameOfClass{DicomClass::segmentation, "segmentation", "a segmentation"},
    NameOfClass{DicomClass::dose, "dose", "a dose grid"},
    NameOfClass{DicomClass::localizer, "localizer", "a localizer"},
    NameOfClass{DicomClass::radiotherapy, "radiotherapy", "an object of radiotherapy"},
    NameOfClass{DicomClass::report, "report", "a report"},
    NameOfClass{DicomClass::presentation, "presentation", "a presentation state"},
    NameOfClass{DicomClass::document, "document", "a document"}};

const NameOfClass& name_of(DicomClass kind) { return *std::ranges::find(names, kind, &NameOfClass::kind); }

}  // namespace

DicomClass class_of(const DicomHeader& header) {
  constexpr std::string_view storage = "1.2.840.10008.5.1.4.1.1.";
  const std::string_view uid = header.sop_class;
  if (uid.starts_with(storage)) {
    const std::string_view rest = uid.substr(storage.size());
    if (rest == "7" || rest.starts_with("7.")) return DicomClass::secondary_capture;
    for (const auto& row : classes) {
      if (rest == row.prefix || (row.prefix.ends_with('.') && rest.starts_with(row.prefix))) return row.kind;
    }
  } else {
    for (const auto& row : modalities) {
      if (header.modality == row.modality) return row.kind;
    }
  }
  return header.is_localizer ? DicomClass::localizer : DicomClass::image;
}

std::optional<DicomClass> dicom_class_of_file(const std::filesystem::path& path) {
  const auto header = read_dicom_header(path);
  return header ? std::optional(class_of(*header)) : std::nullopt;
}

std::string to_text(DicomClass kind) { return std::string(name_of(kind).text); }

std::string word_of(DicomClass kind) { return std::string(name_of(kind).word); }

std::vector<std::string> dicom_class_words() {
  std::vector<std::string> words;
  for (const auto& name : names) words.emplace_back(name.word);
  return words;
}

}  // namespace larmor
