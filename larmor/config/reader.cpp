#include "larmor/config/reader.h"

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/config/values.h"

namespace larmor {

namespace {

// What a parse gives: nothing, or the phrase of what would have been right.
using Complaint = std::string;

template <class Value>
Complaint assign(Value& target, const std::optional<Value>& parsed, const char* expected) {
  if (!parsed) return expected;
  target = *parsed;
  return "";
}

std::string list_text(const std::vector<std::string>& items) { return "[" + join(items, ", ") + "]"; }

template <class Item>
std::string flow_list(const std::vector<Item>& items) {
  std::vector<std::string> words;
  for (size_t i = 0; i < items.size(); ++i) words.push_back(flow(static_cast<const Item&>(items[i])));
  return list_text(words);
}

}  // namespace

template <class Value, class Parse, class Print>
void Reader::read(const char* name, Value& value, const char* help, const Parse& parse, const Print& print) {
  const auto key = prefix_ + name;
  leaves_.push_back(key);
  Origin origin{.key = key, .value = "", .origin = "built-in", .overrode = "", .help = help};
  const auto* said = assignments_.find(key);
  for (const auto& [node, where] : said == nullptr ? std::vector<Assignment>{} : *said) {
    Value read_value = value;
    const auto complaint = parse(node, read_value);
    if (!complaint.empty()) {
      faults_.push_back(text(key, " (", where, "): ", name_of(node), " is not ", complaint));
      continue;
    }
    const auto before = print(value);
    value = read_value;
    if (print(value) != before) origin.overrode = origin.origin;
    origin.origin = where;
  }
  origin.value = print(value);
  origins_.push_back(std::move(origin));
}

std::string Reader::outside(double number, Range range) const {
  if (number >= range.least && number <= range.most) return "";
  const Range all;
  if (range.most == all.most) return text("at least ", range.least);
  return text("between ", range.least, " and ", range.most);
}

void Reader::field(const char* name, bool& value, const char* help) {
  read(name, value, help, [](const Node& node, bool& target) { return assign(target, as_bool(node), "true or false"); },
       [](bool shown) { return flow(shown); });
}

void Reader::field(const char* name, int64_t& value, const char* help, Range range) {
  read(
      name, value, help,
      [&](const Node& node, int64_t& target) {
        const auto complaint = assign(target, as_integer(node), "a whole number");
        return complaint.empty() ? outside(static_cast<double>(target), range) : complaint;
      },
      [](int64_t shown) { return flow(shown); });
}

void Reader::field(const char* name, double& value, const char* help, Range range) {
  read(
      name, value, help,
      [&](const Node& node, double& target) {
        const auto complaint = assign(target, as_number(node), "a number");
        return complaint.empty() ? outside(target, range) : complaint;
      },
      [](double shown) { return flow(shown); });
}

void Reader::field(const char* name, std::string& value, const char* help) {
  read(name, value, help, [](const Node& node, std::string& target) { return assign(target, as_text(node), "a text"); },
       [](const std::string& shown) { return flow(shown); });
}

void Reader::field(const char* name, Length& value, const char* help) {
  read(
      name, value, help,
      [](const Node& node, Length& target) -> Complaint {
        try {
          target = parse_length(as_text(node).value_or("?"));
          return "";
        } catch (const Error&) {
          return "a length such as 10ep, 500st, 90s, 30min or 12h";
        }
      },
      [](const Length& shown) { return to_text(shown); });
}

template <class Item, class ParseItem>
void Reader::read_list(const char* name, std::vector<Item>& value, const char* help, const ParseItem& parse_item) {
  read(
      name, value, help,
      [&](const Node& node, std::vector<Item>& target) -> Complaint {
        if (node.kind != Node::Kind::list) return "a list";
        target.clear();
        for (const auto& item : node.items) {
          Item one{};
          if (const auto complaint = parse_item(item, one); !complaint.empty()) {
            return text("a list in which every item is ", complaint, " (", name_of(item), " is not)");
          }
          target.push_back(one);
        }
        return "";
      },
      [](const std::vector<Item>& shown) { return flow_list(shown); });
}

void Reader::field(const char* name, std::vector<std::string>& value, const char* help) {
  read_list(name, value, help, [](const Node& node, std::string& item) { return assign(item, as_text(node), "a text"); });
}

void Reader::field(const char* name, std::vector<int64_t>& value, const char* help, Range range) {
  read_list(name, value, help, [&](const Node& node, int64_t& item) {
    const auto complaint = assign(item, as_integer(node), "a whole number");
    return complaint.empty() ? outside(static_cast<double>(item), range) : complaint;
  });
}

void Reader::field(const char* name, std::vector<double>& value, const char* help, Range range) {
  read_list(name, value, help, [&](const Node& node, double& item) {
    const auto complaint = assign(item, as_number(node), "a number");
    return complaint.empty() ? outside(item, range) : complaint;
  });
}

void Reader::field(const char* name, std::vector<bool>& value, const char* help) {
  read(
      name, value, help,
      [](const Node& node, std::vector<bool>& target) -> Complaint {
        if (node.kind != Node::Kind::list) return "a list";
        target.clear();
        for (const auto& item : node.items) {
          const auto flag = as_bool(item);
          if (!flag) return "a list of true and false";
          target.push_back(*flag);
        }
        return "";
      },
      [](const std::vector<bool>& shown) { return flow_list(shown); });
}

void Reader::field(const char* name, std::optional<bool>& value, const char* help) {
  read(
      name, value, help,
      [](const Node& node, std::optional<bool>& target) -> Complaint {
        target = as_bool(node);
        return target || is_auto(node) ? "" : "true, false or auto";
      },
      [](const std::optional<bool>& shown) { return shown ? flow(*shown) : "auto"; });
}

void Reader::field(const char* name, std::optional<int64_t>& value, const char* help, Range range) {
  read(
      name, value, help,
      [&](const Node& node, std::optional<int64_t>& target) -> Complaint {
        target = as_integer(node);
        if (!target) return is_auto(node) ? "" : "a whole number or auto";
        return outside(static_cast<double>(*target), range);
      },
      [](const std::optional<int64_t>& shown) { return shown ? flow(*shown) : "auto"; });
}

void Reader::field(const char* name, Json& value, const char* help) {
  read(
      name, value, help,
      [](const Node& node, Json& target) -> Complaint {
        target = as_json(node);
        return "";
      },
      [](const Json& shown) { return flow(shown); });
}

void Reader::bytes(const char* name, std::optional<uint64_t>& value, const char* help) {
  read(
      name, value, help,
      [](const Node& node, std::optional<uint64_t>& target) -> Complaint {
        target.reset();
        if (is_auto(node)) return "";
        try {
          target = parse_bytes(as_text(node).value_or("?"));
          return "";
        } catch (const Error&) {
          return "a size such as 48GiB, or auto";
        }
      },
      [](const std::optional<uint64_t>& shown) { return shown ? bytes_text(*shown) : "auto"; });
}

void Reader::word(const char* name, std::string& value, const std::vector<std::string>& words, const char* help) {
  read(
      name, value, help,
      [&](const Node& node, std::string& target) -> Complaint {
        const auto given = as_text(node);
        for (const auto& known : words) {
          if (given == known) {
            target = known;
            return "";
          }
        }
        const auto near = given ? nearest(*given, words) : "";
        return text("one of ", join(words, ", "), near.empty() ? "" : text(" (did you mean ", near, "?)"));
      },
      [](const std::string& shown) { return flow(shown); });
}

void Reader::section(const char* name, const std::function<void(Fields&)>& describe) {
  const auto outer = prefix_;
  sections_.insert(outer + name);
  prefix_ = outer + name + ".";
  describe(*this);
  prefix_ = outer;
}

void Reader::refuse_unknown_keys() {
  const std::set<std::string> known(leaves_.begin(), leaves_.end());
  for (const auto& [key, said] : assignments_.all()) {
    if (known.contains(key)) continue;
    const auto& last = said.back();
    if (sections_.contains(key)) {
      // An empty section says nothing, and that is allowed.
      if (last.value.kind == Node::Kind::null) continue;
      faults_.push_back(text(key, " (", last.origin, "): ", name_of(last.value), " stands where the keys of a section were expected"));
      continue;
    }
    auto near = nearest(key, leaves_);
    if (near.empty()) {
      // The right word in the wrong section.
      const auto tail = "." + key.substr(key.rfind('.') + 1);
      for (const auto& leaf : leaves_) {
        if (near.empty() && leaf.ends_with(tail)) near = leaf;
      }
    }
    faults_.push_back(text(key, " (", last.origin, ") is not a key", near.empty() ? "" : text("; did you mean ", near, "?")));
  }
}

}  // namespace larmor
