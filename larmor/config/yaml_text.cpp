#include "larmor/config/yaml_text.h"

#include <algorithm>
#include <array>

#include "larmor/base/text.h"

namespace larmor {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Words that one YAML reader or another takes for something else than text.
bool is_reserved(std::string_view word) {
  constexpr std::array<std::string_view, 9> reserved{"true", "false", "null", "yes", "no",
                                                     "on",   "off",   "y",    "n"};
  return std::find(reserved.begin(), reserved.end(), lower(word)) != reserved.end();
}

}  // namespace

std::string yaml_word(std::string_view word) {
  const auto is_plain = [](char c) {
    return is_letter(c) || std::string_view("0123456789_-./+").find(c) != std::string_view::npos;
  };
  const bool starts_plain = !word.empty() && (is_letter(word[0]) || word[0] == '/' || word[0] == '_');
  if (starts_plain && std::all_of(word.begin(), word.end(), is_plain) && !is_reserved(word))
    return std::string(word);
  return Json(word).dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

std::string yaml_number(double number) {
  std::string digits = text(number);
  if (digits.find('.') != std::string::npos || digits.find_first_not_of("+-0123456789e") != std::string::npos)
    return digits;
  const size_t exponent = digits.find('e');
  return digits.insert(exponent == std::string::npos ? digits.size() : exponent, ".0");
}

std::string yaml_flow(const Json& value) {
  if (value.is_string()) return yaml_word(value.get_ref<const std::string&>());
  if (value.is_number_float()) return yaml_number(value.get<double>());
  if (!value.is_structured()) return value.dump();
  std::string out;
  for (const auto& [key, item] : value.items()) {
    if (!out.empty()) out += ", ";
    if (value.is_object()) out += yaml_word(key) + ": ";
    out += yaml_flow(item);
  }
  return value.is_object() ? text('{', out, '}') : text('[', out, ']');
}

}  // namespace larmor
