// DICOM files for tests, put together element by element, to be spoilt. Tags and rules are said anew here, so
// that the reader is held against them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace larmor::testing {

constexpr const char* implicit_little = "1.2.840.10008.1.2";
constexpr const char* explicit_little = "1.2.840.10008.1.2.1";
constexpr const char* explicit_big = "1.2.840.10008.1.2.2";
constexpr const char* deflated_little = "1.2.840.10008.1.2.1.99";
constexpr const char* rle_lossless = "1.2.840.10008.1.2.5";
constexpr const char* jpeg_baseline = "1.2.840.10008.1.2.4.50";

/// At first a good CT slice of 3 columns and 2 rows, uint16 0 to 5, 0.5 mm between columns and 0.75 between
/// rows, at (10, 20, 30).
class DicomBytes {
 public:
  explicit DicomBytes(std::string transfer_syntax = explicit_little);

  DicomBytes& put(uint32_t tag, const char* type, std::string_view value);
  DicomBytes& put_short(uint32_t tag, int value);
  DicomBytes& drop(uint32_t tag);
  DicomBytes& place(double x, double y, double z);
  DicomBytes& pixels_of(const std::vector<int>& values, int bits = 16);
  /// Encapsulated: an empty table of offsets, then the pieces.
  DicomBytes& fragments_of(const std::vector<std::string>& pieces);
  /// An element as it lies in the file, for building sequences: item contents are such elements.
  std::string element(uint32_t tag, std::string_view type, std::string_view value) const;
  std::string item(std::string_view elements, bool open = false) const;
  std::string open_sequence(uint32_t tag, std::string_view items) const;

  std::string whole() const;
  std::string data_set() const;

 private:
  bool is_big() const { return syntax_ == explicit_big; }
  bool has_types() const { return syntax_ != implicit_little; }
  std::string number(uint64_t value, int bytes) const;

  std::string syntax_;
  struct Value {
    std::string type, bytes;
    bool open = false;
  };
  std::map<uint32_t, Value> elements_;
};

}  // namespace larmor::testing
