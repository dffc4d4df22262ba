#include "larmor/config/values.h"

#include <charconv>
#include <cmath>

#include "larmor/base/text.h"

namespace larmor {

namespace {

bool is_plain(const Node& node) { return node.kind == Node::Kind::scalar && !node.quoted; }

template <class Number>
std::optional<Number> whole_text_as(const std::string& word) {
  Number number{};
  const auto* end = word.data() + word.size();
  const auto result = std::from_chars(word.data(), end, number);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return number;
}

bool has_leading_zero(const std::string& word) {
  const size_t first = word.starts_with("-") ? 1 : 0;
  return word.size() > first + 1 && word[first] == '0' && word[first + 1] >= '0' && word[first + 1] <= '9';
}

}  // namespace

std::optional<bool> as_bool(const Node& node) {
  if (!is_plain(node)) return std::nullopt;
  if (node.text == "true") return true;
  if (node.text == "false") return false;
  return std::nullopt;
}

std::optional<int64_t> as_integer(const Node& node) {
  if (!is_plain(node) || has_leading_zero(node.text)) return std::nullopt;
  return whole_text_as<int64_t>(node.text);
}

std::optional<double> as_number(const Node& node) {
  if (!is_plain(node) || has_leading_zero(node.text)) return std::nullopt;
  const auto number = whole_text_as<double>(node.text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<std::string> as_text(const Node& node) {
  if (node.kind != Node::Kind::scalar) return std::nullopt;
  return node.text;
}

bool is_auto(const Node& node) { return is_plain(node) && node.text == "auto"; }

Json as_json(const Node& node) {
  if (node.kind == Node::Kind::list) {
    Json list = Json::array();
    for (const auto& item : node.items) list.push_back(as_json(item));
    return list;
  }
  if (node.kind == Node::Kind::map) {
    Json map = Json::object();
    for (const auto& [key, value] : node.entries) map[key] = as_json(value);
    return map;
  }
  if (node.kind == Node::Kind::null) return nullptr;
  if (const auto value = as_bool(node)) return *value;
  if (const auto value = as_integer(node)) return *value;
  if (const auto value = as_number(node)) return *value;
  return node.text;
}

std::string name_of(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null: return "nothing";
    case Node::Kind::list: return "a list";
    case Node::Kind::map: return "a section";
    case Node::Kind::scalar: return text("'", node.text, "'");
  }
  return "nothing";
}

std::string flow(bool value) { return value ? "true" : "false"; }
std::string flow(int64_t value) { return text(value); }
std::string flow(double value) { return text(value); }

std::string flow(const std::string& value) {
  constexpr std::string_view plain_letters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+";
  Node node;
  node.kind = Node::Kind::scalar;
  node.text = value;
  const bool reads_as_other = as_bool(node) || as_number(node) || value == "null";
  const bool plain = !value.empty() && value.find_first_not_of(plain_letters) == std::string::npos &&
                     value.front() != '-' && !reads_as_other;
  return plain ? value : Json(value).dump();
}

std::string flow(const Json& value) {
  if (value.is_string()) return flow(value.get<std::string>());
  if (value.is_number_float()) return flow(value.get<double>());
  if (value.is_array() || value.is_object()) {
    std::string out(1, value.is_array() ? '[' : '{');
    for (const auto& [key, item] : value.items()) {
      if (out.size() > 1) out += ", ";
      if (value.is_object()) out += flow(key) + ": ";
      out += flow(item);
    }
    return out + (value.is_array() ? "]" : "}");
  }
  return value.dump();
}

}  // namespace larmor
