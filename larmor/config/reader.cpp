#include "larmor/config/reader.h"

#include <algorithm>
#include <utility>

#include "larmor/base/text.h"
#include "larmor/config/foreign/deepspeed_keys.h"

namespace larmor {
namespace {

class KeyLister final : public LeafVisitor {
 public:
  void section(const char* name, const std::function<void(Fields&)>& describe) override {
    const std::string around = std::exchange(prefix_, text(prefix_, name, '.'));
    keys.sections.push_back(text(around, name));
    describe(*this);
    prefix_ = around;
  }

  KeyList keys;

 protected:
  void visit(const Leaf& leaf) override { keys.leaves.push_back(prefix_ + leaf.name); }

 private:
  std::string prefix_;
};

// A value of one field, and whose it is.
struct Given {
  std::string origin;
  std::string value;
};

// The next value below the last that is another one.
std::string overrode(std::span<const Given> chain) {
  for (size_t i = chain.size() - 1; i-- > 0;) {
    if (chain[i].value != chain.back().value) return chain[i].origin;
  }
  return {};
}

std::string last_word(const std::string& key) { return key.substr(key.rfind('.') + 1); }

}  // namespace

KeyList list_keys(const WorkloadFields& fields) {
  KeyLister lister;
  RunConfig defaults;
  describe(defaults, fields, lister);
  lister.keys.foreign = fields.foreign_flags;
  return std::move(lister.keys);
}

std::string suggestion(const std::string& key, const KeyList& known) {
  const auto asked = [](const std::string& near) { return text("did you mean ", near, "?"); };
  const std::string word = last_word(key);
  const std::string near = nearest(key, known.leaves);
  const std::vector<std::string> near_word{last_word(near)};
  if (!near.empty() && !nearest(word, near_word).empty()) return asked(near);
  // A name that other programs use is no slip of the finger.
  if (std::string hint = hint_for_foreign_flag(word, known.foreign); !hint.empty()) return hint;
  const auto theirs = deepspeed_sections();
  if (std::find(theirs.begin(), theirs.end(), key.substr(0, key.find('.'))) != theirs.end())
    return "DeepSpeed's keys stand in a JSON file of their own, for -c";
  if (const std::string section = nearest(key, known.sections); !section.empty()) return asked(section);
  // The right word in the wrong section.
  std::vector<std::string> words;
  for (const std::string& leaf : known.leaves) words.push_back(last_word(leaf));
  const std::string meant = nearest(word, words);
  constexpr size_t most_meant = 3;
  std::vector<std::string> possible;
  for (const std::string& leaf : known.leaves)
    if (last_word(leaf) == meant && possible.size() < most_meant) possible.push_back(leaf);
  if (!possible.empty()) return asked(join(possible, " or "));
  return near.empty() ? "" : asked(near);
}

Reader::Reader(std::span<const Node* const> trees, const KeyList& known, std::set<std::string> inheriting,
               Problems& problems)
    : known_(known), inheriting_(std::move(inheriting)), problems_(problems) {
  levels_.push_back({.key = {}, .mappings = {trees.begin(), trees.end()}, .names = {}});
}

std::string Reader::key_of(const std::string& name) const {
  const std::string& around = levels_.back().key;
  return around.empty() ? name : text(around, '.', name);
}

void Reader::section(const char* name, const std::function<void(Fields&)>& describe) {
  Level level;
  level.key = key_of(name);
  level.start = inheriting_.contains(level.key) ? levels_.back().key : levels_.back().start;
  levels_.back().names.insert(name);
  for (const Node* mapping : levels_.back().mappings) {
    const Entry* entry = mapping == nullptr ? nullptr : find_entry(*mapping, name);
    const bool is_mapping = entry != nullptr && entry->value.kind == Node::Kind::mapping;
    level.mappings.push_back(is_mapping ? &entry->value : nullptr);
    // A section with nothing below it is one that a person left empty.
    if (entry == nullptr || is_mapping || entry->value.kind == Node::Kind::nothing) continue;
    problems_.push_back({level.key, place_text(entry->place),
                         text("is a section with keys of its own, got ", shown(entry->value))});
  }
  levels_.push_back(std::move(level));
  describe(*this);
  refuse_unknown(levels_.back());
  levels_.pop_back();
}

void Reader::visit(const Leaf& leaf) {
  Level& level = levels_.back();
  const std::string key = key_of(leaf.name);
  level.names.insert(leaf.name);
  std::vector<Given> chain{{level.start, value_text(leaf)}};
  for (const Node* mapping : level.mappings) {
    const Entry* entry = mapping == nullptr ? nullptr : find_entry(*mapping, leaf.name);
    if (entry == nullptr) continue;
    if (const auto complaint = assign(leaf, entry->value)) {
      problems_.push_back({key, place_text(entry->place), *complaint});
      continue;
    }
    chain.push_back({origin_text(entry->place), value_text(leaf)});
  }
  origins_.push_back({.key = key,
                      .value = chain.back().value,
                      .origin = chain.back().origin,
                      .overrode = overrode(chain),
                      .help = leaf.help});
}

void Reader::finish() { refuse_unknown(levels_.back()); }

void Reader::refuse_unknown(const Level& level) {
  for (const Node* mapping : level.mappings) {
    if (mapping == nullptr) continue;
    for (const Entry& entry : mapping->entries) {
      if (level.names.contains(entry.key)) continue;
      // Down to the key that the person meant, where there is but one.
      const Entry* deepest = &entry;
      std::string key = level.key.empty() ? entry.key : text(level.key, '.', entry.key);
      while (deepest->value.kind == Node::Kind::mapping && deepest->value.entries.size() == 1) {
        deepest = &deepest->value.entries.front();
        key += text('.', deepest->key);
      }
      const std::string near = problems_.size() < most_problems_shown ? suggestion(key, known_) : "";
      problems_.push_back(
          {key, place_text(deepest->place), text("is not a key", near.empty() ? "" : "; ", near)});
    }
  }
}

}  // namespace larmor
