#include "larmor/config/foreign/guide_translation.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "larmor/base/text.h"
#include "larmor/config/foreign/deepspeed_answers.h"
#include "larmor/config/scalar.h"
#include "larmor/config/tree.h"
#include "larmor/config/yaml_text.h"

namespace larmor {

std::string flow_text(const Node& node) {
  std::string all;
  const auto add = [&](const std::string& one) { all += text(all.empty() ? "" : ", ", one); };
  switch (node.kind) {
    case Node::Kind::nothing:
      return "null";
    case Node::Kind::plain:
      return node.text;
    case Node::Kind::quoted:
      return yaml_word(node.text);
    case Node::Kind::list:
      for (const Node& item : node.items) add(flow_text(item));
      return text('[', all, ']');
    case Node::Kind::mapping:
      for (const Entry& entry : node.entries) add(text(yaml_word(entry.key), ": ", flow_text(entry.value)));
      return text('{', all, '}');
  }
  return all;
}

namespace {

using deepspeed::number_in;
using Way = GuideKey::Way;

/// YAML of old and of now, and Python.
std::string plain_text(const Node& node) {
  const std::string written = node.kind == Node::Kind::quoted ? node.text : flow_text(node);
  if (written == "True" || written == "False") return lower(written);
  return written;
}

Node plain(std::string value) {
  return {.kind = Node::Kind::plain, .text = std::move(value), .items = {}, .entries = {}};
}

Node as_ours(const Node& node) { return node.kind == Node::Kind::plain ? plain(plain_text(node)) : node; }

/// `@name` and `$@name`, of MONAI's bundles.
class References {
 public:
  References(Node& root, Problems& problems) : root_(root), problems_(problems) {}

  void follow_all() {
    for (Entry& entry : root_.entries) follow(entry.key, entry.place, entry.value);
  }

 private:
  void follow(const std::string& key, const SourcePlace& place, Node& node) {
    for (Entry& entry : node.entries) follow(text(key, '.', entry.key), entry.place, entry.value);
    for (Node& item : node.items) follow(key, place, item);
    if (!node.text.starts_with('@') && !node.text.starts_with('$')) return;
    const std::string name = node.text.substr(node.text.starts_with("$@") ? 2 : 1);
    const Entry* const meant = node.text.starts_with("@") || node.text.starts_with("$@")
                                   ? find_value(root_, join(split(name, '#'), "."))
                                   : nullptr;
    // A file could otherwise grow without end by what it refers to.
    constexpr size_t longest = 200;
    const bool is_value = meant != nullptr && !meant->value.text.empty() &&
                          meant->value.text.size() <= longest && !meant->value.text.starts_with('@') &&
                          !meant->value.text.starts_with('$');
    if (is_value) {
      const int line = node.line;
      node = Node(meant->value);
      node.line = line;
    } else {
      problems_.push_back(
          {key, place_text(place),
           text("is ", shown(node), ", which names no number or word of this file; write the value itself")});
      node = Node();
    }
  }

  Node& root_;
  Problems& problems_;
};

class GuideTranslator : private deepspeed::Answers {
 public:
  GuideTranslator(const Node& root, const GuideFile& file, const std::vector<std::string>& stages,
                  Problems& problems)
      : Answers(problems), root_(root), file_(file), stages_(stages), problems_(problems) {}

  Translation translate() {
    for (const Entry& entry : root_.entries)
      visit({.row = entry.key, .key = entry.key, .beside = root_}, entry);
    // What is said of one GPU decides the whole, however many there are.
    for (const auto& [key, value] : given_) {
      constexpr std::string_view ending = "train.accumulation";
      if (!key.ends_with(ending)) continue;
      const std::string section = key.substr(0, key.size() - ending.size());
      if (given_.contains(section + "train.micro_batch"))
        put_under(section + "train.global_batch", plain("auto"), *value.entry);
    }
    return take();
  }

 private:
  struct Given {
    std::string key, value;  // theirs
    const Entry* entry;
  };

  /// Where a key lies.
  struct At {
    std::string row;           // as the table writes it
    std::string key;           // as messages write it
    const Node& beside;        // the mapping around it
    std::string section = {};  // "stage:" where it lies in an item of a list of stages
  };

  void visit(const At& at, const Entry& entry) {
    bool is_known = false;
    for (const GuideKey& known : file_.keys) {
      if (known.theirs != at.row) continue;
      is_known = true;
      answer(known, at, entry);
    }
    if (is_known) return;
    const auto below = text(at.row, "[].");
    const bool has_items = std::ranges::any_of(
        file_.keys, [&](const GuideKey& known) { return known.theirs.starts_with(below); });
    if (entry.value.kind == Node::Kind::mapping) {
      for (const Entry& inner : entry.value.entries)
        visit(inside(at, ".", text(at.key, '.', inner.key), entry.value, inner), inner);
    } else if (entry.value.kind == Node::Kind::list && has_items) {
      visit_items(at, entry);
    } else if (entry.key.starts_with('_')) {
      note(entry, text(at.key, " is a comment"));
    } else {
      refuse(at.row, at.key, entry);
    }
  }

  static At inside(const At& at, const char* between, std::string key, const Node& beside,
                   const Entry& inner) {
    return {.row = text(at.row, between, inner.key),
            .key = std::move(key),
            .beside = beside,
            .section = at.section};
  }

  void visit_items(const At& at, const Entry& list) {
    for (size_t i = 0; i < list.value.items.size(); ++i) {
      const Node& item = list.value.items[i];
      const Entry* const name = item.kind == Node::Kind::mapping ? find_entry(item, "name") : nullptr;
      if (name == nullptr) {
        fault(at.key, list,
              text("has an item, number ", i + 1, ", without a name: say of which stage it is"));
        continue;
      }
      const std::string& stage = name->value.text;
      if (std::ranges::find(stages_, stage) == stages_.end()) {
        fault(at.key, *name,
              text("has an item for a stage ", stage, "; the stages are ", join(stages_, ", ")));
        continue;
      }
      for (const Entry& inner : item.entries) {
        if (&inner == name) continue;
        At below = inside(at, "[].", text(at.key, '.', stage, '.', inner.key), item, inner);
        below.section = stage + ':';
        visit(below, inner);
      }
    }
  }

  void refuse(const std::string& row, const std::string& key, const Entry& entry) {
    std::vector<std::string> names;
    for (const GuideKey& one : file_.keys) names.emplace_back(one.theirs);
    const std::string near = nearest(row, names);
    fault(
        key, entry,
        text("is not known in ", file_.name, near.empty() ? "" : text("; did you mean ", near, "?"),
             "; take it out, or say what it asks for in our words (our section is `train`, not `training`)"));
  }

  void answer(const GuideKey& known, const At& at, const Entry& entry) {
    const std::string& key = at.key;
    const auto means_nothing = [&](auto... why) { note(entry, text(key, " has no meaning here: ", why...)); };
    if (!known.unless_off.empty()) {
      const Entry* const other = find_entry(at.beside, known.unless_off);
      if (other != nullptr && plain_text(other->value) == "false")
        return means_nothing(known.unless_off, " is false");
    }
    if (known.way == Way::unneeded) return means_nothing(known.ours);
    if (known.way == Way::fixed) return keep_fixed(known, key, entry);
    if (known.way == Way::missing && deepspeed::is_off(entry.value)) return means_nothing(known.ours);
    if (known.way == Way::missing) return note(entry, text(key, " is not supported: ", known.ours));
    if (known.way == Way::flag) return say_flag(known, key, entry);
    const std::string ours = at.section + known.ours;
    if (deepspeed::is_left_open(entry.value)) return open(key, ours, entry);
    if (known.way == Way::as_it_is) return give_once(key, ours, as_ours(entry.value), entry);
    const auto value = value_of(known, key, entry);
    if (value && value->empty()) return note(entry, text(key, ": ", ours, " stays as it is"));
    auto node = value ? parse_value(*value, key, *entry.place.source, problems_) : std::nullopt;
    if (node) give_once(key, ours, std::move(*node), entry);
  }

  void say_flag(const GuideKey& known, const std::string& key, const Entry& entry) {
    const std::string value = plain_text(entry.value);
    if (deepspeed::is_left_open(entry.value) || (value == known.form && !value.empty()))
      return note(entry, text(key, " has no meaning here: it asks for nothing"));
    std::string said = known.ours;
    say(key, said.replace(said.find("{}"), 2, value), entry);
  }

  void keep_fixed(const GuideKey& known, const std::string& key, const Entry& entry) {
    const auto allowed = split(known.form, '|');
    if (deepspeed::is_left_open(entry.value) ||
        std::ranges::find(allowed, plain_text(entry.value)) != allowed.end())
      return note(entry, text(key, " has no meaning here: ", known.ours));
    fault(key, entry,
          text("is ", plain_text(entry.value), ", and not ", join(allowed, " or "), ": ", known.ours));
  }

  /// Nothing where it cannot be; that is then told.
  std::optional<std::string> value_of(const GuideKey& known, const std::string& key, const Entry& entry) {
    const std::string written = plain_text(entry.value);
    switch (known.way) {
      case Way::counted:
        return counts(known, key, entry);
      case Way::placed: {
        std::string whole = known.form;
        if (const size_t gap = whole.find("{}"); gap != std::string::npos)
          whole.replace(gap, 2, flow_text(entry.value));
        return whole;
      }
      case Way::chosen:
        return choice(known, key, entry);
      case Way::listed:
        return entry.value.kind == Node::Kind::list ? written : text('[', written, ']');
      case Way::edge: {
        const auto& items = entry.value.items;
        if (items.empty()) return written;
        const bool is_cube = std::ranges::all_of(
            items, [&](const Node& item) { return flow_text(item) == flow_text(items.front()); });
        if (is_cube) return flow_text(items.front());
        fault(key, entry, text("is ", written, ", and a volume here is as long as it is wide and high"));
        return std::nullopt;
      }
      default:
        return flow_text(entry.value);
    }
  }

  std::optional<std::string> counts(const GuideKey& known, const std::string& key, const Entry& entry) {
    const bool is_list = entry.value.kind == Node::Kind::list;
    std::vector<std::string> all;
    for (const Node& one : is_list ? entry.value.items : std::vector{entry.value}) {
      const auto number = number_in(one);
      if (!number || *number <= 0) {
        fault(key, entry, is_list ? "has to be a list of numbers above 0" : "has to be a number above 0");
        return std::nullopt;
      }
      all.push_back(one.text + known.form);
    }
    return is_list ? text('[', join(all, ", "), ']') : all.front();
  }

  std::optional<std::string> choice(const GuideKey& known, const std::string& key, const Entry& entry) {
    std::vector<std::string> all;
    for (const auto& one : split(known.form, '|')) {
      const size_t sign = one.find('=');
      if (lower(plain_text(entry.value)) == lower(one.substr(0, sign))) return one.substr(sign + 1);
      all.push_back(one.substr(0, sign));
    }
    fault(key, entry, text("has to be ", join(all, " or ")));
    return std::nullopt;
  }

  /// Two keys of a file may say the same, and not two things.
  void give_once(const std::string& key, const std::string& ours, Node value, const Entry& entry) {
    const std::string written = flow_text(value);
    const auto [given, is_new] =
        given_.try_emplace(ours, Given{.key = key, .value = written, .entry = &entry});
    const Given& first = given->second;
    if (is_new) {
      tell(entry, text(key, ": ", ours, '=', written));
      come_from(ours, key);
      return put_under(ours, std::move(value), entry);
    }
    const auto number = as_number(written);
    if (first.value == written || (number && number == as_number(first.value)))
      return note(entry, text(key, " says what ", first.key, " says"));
    fault(key, entry,
          text("asks for ", ours, '=', written, ", and ", first.key, " for ", ours, '=', first.value,
               ": take one of them out"));
  }

  /// "stage:section.key" lies in the section of that stage.
  void put_under(const std::string& ours, Node value, const Entry& entry) {
    value.line = entry.value.line;
    const size_t sign = ours.find(':');
    std::vector<std::string> words;
    if (sign != std::string::npos) words.push_back(ours.substr(0, sign));
    for (auto& word : split(sign == std::string::npos ? ours : ours.substr(sign + 1), '.'))
      words.push_back(std::move(word));
    put(words, std::move(value), entry);
  }

  const Node& root_;
  const GuideFile& file_;
  const std::vector<std::string>& stages_;
  Problems& problems_;
  std::map<std::string, Given> given_;  // by our keys
};

}  // namespace

const GuideFile* guide_file_of(const Node& root, const GuideFiles& files) {
  if (root.kind != Node::Kind::mapping) return nullptr;
  constexpr std::array<std::string_view, 8> only_ours{"run",  "train", "optim",      "parallel",
                                                      "plan", "track", "checkpoint", "loss"};
  for (const GuideFile& file : files) {
    std::set<std::string> theirs;
    for (const GuideKey& key : file.keys) theirs.insert(split(key.theirs, '.').front());
    const auto is_in = [&](std::string_view key) { return find_entry(root, key) != nullptr; };
    const bool has_ours = std::ranges::any_of(
        only_ours, [&](std::string_view key) { return is_in(key) && !theirs.contains(std::string(key)); });
    if (!has_ours && std::ranges::any_of(file.known_by, is_in)) return &file;
  }
  return nullptr;
}

Translation translate_guide_file(const Node& root, const GuideFile& file,
                                 const std::vector<std::string>& stages, Problems& problems) {
  Node whole = root;
  References(whole, problems).follow_all();
  return GuideTranslator(whole, file, stages, problems).translate();
}

}  // namespace larmor
