// What the value of a DICOM element says: nothing, something, or something that cannot be understood. The
// third is never taken for the first.
// Source: DICOM PS3.5 6.2 (value representations).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace larmor {

/// Without the blanks and zeros that pad it.
std::string_view text_of(std::span<const std::byte> value);

/// One of these three: nothing is said, `value`, or why what is said cannot be understood.
template <class Value>
struct DicomValue {
  std::optional<Value> value = std::nullopt;
  std::string fault = "";  // "is no number"; empty unless it is not understood
};

/// Letters, digits and what stands in `also`, at most 64 of them.
DicomValue<std::string> code_word_of(std::span<const std::byte> value, std::string_view also = "_ ");
/// A count of at most 12 digits, as text; empty where there is another word.
std::string digits_of(std::span<const std::byte> value);
/// Whether DICOM knows colours of this name (0028,0004).
bool is_known_photometric(std::string_view name);
/// Numbers written as text with backslashes between them, all of them finite.
DicomValue<std::vector<double>> decimals_of(std::span<const std::byte> value);
/// One number of 16 bits.
DicomValue<int> short_of(std::span<const std::byte> value, bool big_endian);

}  // namespace larmor
