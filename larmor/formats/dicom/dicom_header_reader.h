// Puts the elements of a DICOM data set into a header. An element that decides intensity, place or class and
// cannot be understood is a fault of the file by its name, never an absent one.
// Source: DICOM PS3.3 C.7.6 (image modules), C.8.8.3 (dose), C.11.1 and C.11.2 (modality and VOI).
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "larmor/formats/dicom/dicom_header.h"
#include "larmor/formats/dicom/dicom_scan.h"
#include "larmor/formats/dicom/dicom_value.h"

namespace larmor {

class DicomHeaderReader {
 public:
  /// Borrows `header`, whose transfer syntax is known.
  DicomHeaderReader(DicomHeader& header, bool big_endian, DicomText texts)
      : header_(header), big_endian_(big_endian), texts_(texts) {}

  DicomVisitor visitor();
  /// Brings together what elements say only together. Requires: the header knows its pixels.
  void finish();

 private:
  /// A lookup table as it is told: entries, first value, bits of an entry; then the entries.
  struct TableParts {
    std::array<int, 3> form{};
    std::vector<std::byte> entries;
    bool is_there = false;
  };

  void take_element(const DicomPath& path, DicomTag tag, std::span<const std::byte> value);
  void take_identity(DicomTag tag, std::span<const std::byte> value);
  void take_class(DicomTag tag, std::span<const std::byte> value);
  void take_encoding(DicomTag tag, std::span<const std::byte> value);
  void take_view(DicomTag tag, std::span<const std::byte> value);
  void take_table(TableParts& table, DicomTag tag, std::span<const std::byte> value);
  void take_plane(DicomPlane& plane, DicomTag tag, std::span<const std::byte> value);
  std::optional<DicomTable> finish_table(const TableParts& parts, DicomTag sequence);
  void finish_window();
  void finish_frames();
  void finish_dose();
  void require_what_decides();
  DicomPlane& plane_of_item(std::size_t item);

  /// What the value says; nothing where it says nothing, or where that cannot be understood, which is noted.
  template <class Value>
  std::optional<Value> understood(DicomTag tag, DicomValue<Value> value) {
    if (!value.fault.empty()) note(tag, value.fault);
    return std::move(value.value);
  }
  void note(DicomTag tag, const std::string& fault) { faults_.emplace(tag, fault); }
  std::string code_word(DicomTag tag, std::span<const std::byte> value, std::string_view also = "_ ");
  std::optional<double> number(DicomTag tag, std::span<const std::byte> value);
  template <std::size_t count>
  void set(std::optional<std::array<double, count>>& field, DicomTag tag, std::span<const std::byte> value);
  int short_number(DicomTag tag, std::span<const std::byte> value);
  /// A short that is 0 or 1.
  bool truth(DicomTag tag, std::span<const std::byte> value);

  DicomHeader& header_;
  bool big_endian_;
  DicomText texts_;
  DicomPlane nobody_;
  std::map<DicomTag, std::string> faults_;
  std::set<DicomTag> seen_;  // of the data set itself
  std::vector<double> centres_, widths_, offsets_;
  std::string function_;
  std::optional<double> dose_unit_;
  TableParts window_table_, value_table_;
  std::size_t frames_told_ = 0;
};

}  // namespace larmor
