#include "larmor/config/leaf.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/config/scalar.h"
#include "larmor/config/yaml_text.h"

namespace larmor {
namespace {

// What a value was expected to be, when it is something else.
struct Mismatch {
  std::string expected;
  std::string got;
};

std::string range_text(const Range& range) {
  constexpr Range open;
  const bool has_least = range.least > open.least, has_most = range.most < open.most;
  if (has_least && has_most) return text(" from ", range.least, " to ", range.most);
  if (has_least) return text(" of at least ", range.least);
  if (has_most) return text(" of at most ", range.most);
  return {};
}

bool is_within(double number, const Range& range) { return number >= range.least && number <= range.most; }

std::string got(const Node& node) {
  const bool has_idle_zero = node.kind == Node::Kind::plain && node.text.size() > 1 && node.text[0] == '0' &&
                             node.text.find_first_not_of("0123456789") == std::string::npos;
  return text(shown(node), has_idle_zero ? " (leave the zero in front out)" : "");
}

[[noreturn]] void mismatch(const char* what, const Range& range, const Node& node) {
  throw Mismatch{text(what, range_text(range)), got(node)};
}

bool is_word(const Node& node) { return node.kind == Node::Kind::plain || node.kind == Node::Kind::quoted; }

void read(const Node& node, const Leaf&, bool& value) {
  const auto read_value = node.kind == Node::Kind::plain ? as_boolean(node.text) : std::nullopt;
  if (!read_value) mismatch("true or false", {}, node);
  value = *read_value;
}

void read(const Node& node, const Leaf& leaf, int64_t& value) {
  const auto number = node.kind == Node::Kind::plain ? as_integer(node.text) : std::nullopt;
  if (!number || !is_within(static_cast<double>(*number), leaf.range))
    mismatch("a whole number", leaf.range, node);
  value = *number;
}

void read(const Node& node, const Leaf& leaf, double& value) {
  const auto number = node.kind == Node::Kind::plain ? as_number(node.text) : std::nullopt;
  if (!number || !is_within(*number, leaf.range)) mismatch("a number", leaf.range, node);
  value = *number;
}

void read_one_of(const Node& node, std::span<const std::string> words, std::string& value) {
  if (is_word(node) && std::find(words.begin(), words.end(), node.text) != words.end()) {
    value = node.text;
    return;
  }
  const std::string near = is_word(node) ? nearest(node.text, words) : "";
  throw Mismatch{text("one of ", join(words, ", ")),
                 text(got(node), near.empty() ? "" : text("; did you mean ", near, "?"))};
}

void read(const Node& node, const Leaf& leaf, std::string& value) {
  if (!leaf.words.empty()) return read_one_of(node, leaf.words, value);
  // Names may look like numbers; true and false, where a text belongs, are more likely a slip.
  if (!is_word(node) || (node.kind == Node::Kind::plain && as_boolean(node.text)))
    mismatch("a text", {}, node);
  value = node.text;
}

void read(const Node& node, const Leaf&, Length& value) {
  try {
    if (is_word(node)) {
      value = parse_length(node.text);
      return;
    }
  } catch (const Error&) {
  }
  mismatch("a length such as 10ep, 500st, 90s, 30min, 12h or 0", {}, node);
}

void read(const Node& node, const Leaf&, uint64_t& value) {
  try {
    if (is_word(node)) {
      value = parse_bytes(node.text);
      return;
    }
  } catch (const Error&) {
  }
  mismatch("a size such as 48GiB or 512MiB", {}, node);
}

template <class Item>
void read(const Node& node, const Leaf& leaf, std::vector<Item>& value) {
  if (node.kind != Node::Kind::list) mismatch("a list in brackets", {}, node);
  std::vector<Item> items;
  for (const Node& item : node.items) {
    Item parsed{};
    try {
      read(item, leaf, parsed);
    } catch (const Mismatch& wrong) {
      throw Mismatch{text("a list, each entry ", wrong.expected),
                     text(wrong.got, " at position ", items.size() + 1)};
    }
    items.push_back(parsed);
  }
  value = std::move(items);
}

template <class Value>
void read(const Node& node, const Leaf& leaf, std::optional<Value>& value) {
  if (is_word(node) && node.text == "auto") {
    value.reset();
    return;
  }
  Value parsed{};
  try {
    read(node, leaf, parsed);
  } catch (const Mismatch& wrong) {
    throw Mismatch{text(wrong.expected, ", or auto"), wrong.got};
  }
  value = parsed;
}

void read(const Node& node, const Leaf&, Json& value) {
  auto parsed = as_json(node);
  if (!parsed) throw Mismatch{"made of finite numbers", "one that is infinite or no number"};
  value = std::move(*parsed);
}

std::string flow(bool value) { return value ? "true" : "false"; }
std::string flow(int64_t value) { return text(value); }
std::string flow(double value) { return yaml_number(value); }
std::string flow(const std::string& value) { return yaml_word(value); }
std::string flow(const Length& value) { return to_text(value); }
std::string flow(uint64_t value) { return bytes_text(value); }
std::string flow(const Json& value) { return yaml_flow(value); }
template <class Value>
std::string flow(const std::optional<Value>& value) {
  return value ? flow(*value) : "auto";
}
template <class Item>
std::string flow(const std::vector<Item>& value) {
  std::vector<std::string> words;
  for (const Item& item : value) words.push_back(flow(item));
  return text('[', join(words, ", "), ']');
}

template <class Value>
Json json(const Value& value) {
  if constexpr (std::is_same_v<Value, Length>) {
    return to_text(value);
  } else {
    return value;
  }
}
template <class Value>
Json json(const std::optional<Value>& value) {
  return value ? Json(*value) : Json("auto");
}

}  // namespace

std::string value_text(const Leaf& leaf) {
  return std::visit([](const auto* value) { return flow(*value); }, leaf.target);
}

Json value_json(const Leaf& leaf) {
  return std::visit([](const auto* value) { return json(*value); }, leaf.target);
}

std::optional<std::string> assign(const Leaf& leaf, const Node& node) {
  try {
    std::visit([&](auto* value) { read(node, leaf, *value); }, leaf.target);
    return std::nullopt;
  } catch (const Mismatch& wrong) {
    return text("has to be ", wrong.expected, "; got ", wrong.got);
  }
}

bool Leaf::can_be_auto() const {
  if (!words.empty()) return std::find(words.begin(), words.end(), "auto") != words.end();
  return std::holds_alternative<std::optional<bool>*>(target) ||
         std::holds_alternative<std::optional<int64_t>*>(target) ||
         std::holds_alternative<std::optional<uint64_t>*>(target);
}

void LeafVisitor::field(const char* name, bool& value, const char* help) { visit({name, &value, help}); }
void LeafVisitor::field(const char* name, int64_t& value, const char* help, Range range) {
  visit({name, &value, help, range});
}
void LeafVisitor::field(const char* name, double& value, const char* help, Range range) {
  visit({name, &value, help, range});
}
void LeafVisitor::field(const char* name, std::string& value, const char* help) {
  visit({name, &value, help});
}
void LeafVisitor::field(const char* name, Length& value, const char* help) { visit({name, &value, help}); }
void LeafVisitor::field(const char* name, std::vector<std::string>& value, const char* help) {
  visit({name, &value, help});
}
void LeafVisitor::field(const char* name, std::vector<int64_t>& value, const char* help, Range range) {
  visit({name, &value, help, range});
}
void LeafVisitor::field(const char* name, std::vector<double>& value, const char* help, Range range) {
  visit({name, &value, help, range});
}
void LeafVisitor::field(const char* name, std::vector<bool>& value, const char* help) {
  visit({name, &value, help});
}
void LeafVisitor::field(const char* name, std::optional<bool>& value, const char* help) {
  visit({name, &value, help});
}
void LeafVisitor::field(const char* name, std::optional<int64_t>& value, const char* help, Range range) {
  visit({name, &value, help, range});
}
void LeafVisitor::field(const char* name, Json& value, const char* help) { visit({name, &value, help}); }
void LeafVisitor::bytes(const char* name, std::optional<uint64_t>& value, const char* help) {
  visit({name, &value, help});
}
void LeafVisitor::path(const char* name, std::string& value, const char* help) {
  visit({.name = name, .target = &value, .help = help, .is_path = true});
}

void LeafVisitor::word(const char* name, std::string& value, const std::vector<std::string>& words,
                       const char* help) {
  visit({name, &value, help, {}, words});
}

}  // namespace larmor
