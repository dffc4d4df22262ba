#include "larmor/config/scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>

#include "larmor/base/text.h"

namespace larmor {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// [+-] digits [. digits] [e [+-] digits], with a digit before the exponent and no zero in front of another
// digit.
bool is_number_text(std::string_view word) {
  size_t at = 0;
  const auto take_sign = [&] {
    if (at < word.size() && (word[at] == '+' || word[at] == '-')) ++at;
  };
  const auto take_digits = [&] {
    const size_t first = at;
    while (at < word.size() && is_digit(word[at])) ++at;
    return at - first;
  };
  take_sign();
  const size_t first = at;
  const size_t whole = take_digits();
  if (whole > 1 && word[first] == '0') return false;
  size_t digits = whole;
  if (at < word.size() && word[at] == '.') {
    ++at;
    digits += take_digits();
  }
  if (digits == 0) return false;
  if (at < word.size() && (word[at] == 'e' || word[at] == 'E')) {
    ++at;
    take_sign();
    if (take_digits() == 0) return false;
  }
  return at == word.size();
}

template <class Number>
std::optional<Number> parse(std::string_view word) {
  if (word.starts_with('+')) word.remove_prefix(1);
  Number number{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return number;
}

bool is_not_finite(std::string_view word) {
  if (word.starts_with('+') || word.starts_with('-')) word.remove_prefix(1);
  const std::string small = lower(word);
  return small == ".inf" || small == ".nan" || (is_number_text(word) && !as_number(word));
}

std::optional<Json> json_of_word(const std::string& word) {
  if (is_not_finite(word)) return std::nullopt;
  if (const auto value = as_boolean(word)) return Json(*value);
  if (const auto value = as_integer(word)) return Json(*value);
  if (const auto value = as_number(word)) return Json(*value);
  return Json(word);
}

}  // namespace

std::optional<bool> as_boolean(std::string_view word) {
  if (word == "true" || word == "True" || word == "TRUE") return true;
  if (word == "false" || word == "False" || word == "FALSE") return false;
  return std::nullopt;
}

std::optional<int64_t> as_integer(std::string_view word) {
  if (!is_number_text(word) || word.find_first_of(".eE") != std::string_view::npos) return std::nullopt;
  return parse<int64_t>(word);
}

std::optional<double> as_number(std::string_view word) {
  if (!is_number_text(word)) return std::nullopt;
  const auto number = parse<double>(word);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<Json> as_json(const Node& node) {
  switch (node.kind) {
    case Node::Kind::nothing:
      return Json(nullptr);
    case Node::Kind::plain:
      return json_of_word(node.text);
    case Node::Kind::quoted:
      return Json(node.text);
    case Node::Kind::list: {
      Json list = Json::array();
      for (const Node& item : node.items) {
        auto value = as_json(item);
        if (!value) return std::nullopt;
        list.push_back(std::move(*value));
      }
      return list;
    }
    case Node::Kind::mapping: {
      Json mapping = Json::object();
      auto& members = mapping.get_ref<Json::object_t&>();
      for (const Entry& entry : node.entries) {
        auto value = as_json(entry.value);
        if (!value) return std::nullopt;
        members.emplace_back(entry.key, std::move(*value));
      }
      return mapping;
    }
  }
  return std::nullopt;
}

}  // namespace larmor
