#include "larmor/formats/dicom/dicom_value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

#include "larmor/base/text.h"

namespace larmor {

std::string_view text_of(std::span<const std::byte> value) {
  std::string_view words(reinterpret_cast<const char*>(value.data()), value.size());
  constexpr std::string_view blank("\0 ", 2);
  const auto first = words.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  words.remove_prefix(first);
  return words.substr(0, words.find_last_not_of(blank) + 1);
}

DicomValue<std::string> code_word_of(std::span<const std::byte> value, std::string_view also) {
  const std::string_view words = text_of(value);
  if (words.empty()) return {};
  const bool sound = words.size() <= 64 && std::all_of(words.begin(), words.end(), [&](char letter) {
                       return (letter >= '0' && letter <= '9') || (letter >= 'A' && letter <= 'Z') ||
                              also.find(letter) != std::string_view::npos;
                     });
  if (!sound) return {.fault = "is no code word"};
  return {.value = std::string(words)};
}

std::string digits_of(std::span<const std::byte> value) {
  const std::string_view words = text_of(value);
  const bool sound = words.size() <= 12 && words.find_first_not_of("0123456789") == words.npos;
  return sound ? std::string(words) : "";
}

bool is_known_photometric(std::string_view name) {
  constexpr std::array<std::string_view, 14> known = {
      "MONOCHROME1",     "MONOCHROME2", "PALETTE COLOR", "RGB", "YBR_FULL", "YBR_FULL_422", "YBR_PARTIAL_422",
      "YBR_PARTIAL_420", "YBR_ICT",     "YBR_RCT",       "HSV", "ARGB",     "CMYK",         "XYB"};
  return std::ranges::find(known, name) != known.end();
}

DicomValue<std::vector<double>> decimals_of(std::span<const std::byte> value) {
  if (text_of(value).empty()) return {};
  std::vector<double> numbers;
  for (const std::string& part : split(text_of(value), '\\')) {
    std::string_view word = text_of(std::as_bytes(std::span(part)));
    if (word.starts_with('+')) word.remove_prefix(1);
    double number = 0;
    const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), number);
    const bool sound = code == std::errc{} && end == word.data() + word.size() && std::isfinite(number) &&
                       !word.starts_with("+");
    if (!sound) return {.fault = "is no number"};
    numbers.push_back(number);
  }
  return {.value = std::move(numbers)};
}

DicomValue<int> short_of(std::span<const std::byte> value, bool big_endian) {
  if (value.empty()) return {};
  if (value.size() != 2) return {.fault = text("is ", value.size(), " bytes long, not 2")};
  const int low = std::to_integer<int>(value[big_endian ? 1 : 0]);
  return {.value = std::to_integer<int>(value[big_endian ? 0 : 1]) << 8 | low};
}

}  // namespace larmor
