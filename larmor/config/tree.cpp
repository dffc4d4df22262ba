#include "larmor/config/tree.h"

#include <utility>

#include "larmor/base/text.h"

namespace larmor {
namespace {

void insert(Node& mapping, Entry entry, const std::string& prefix, Problems& problems) {
  const std::string key = prefix.empty() ? entry.key : text(prefix, '.', entry.key);
  for (Entry& present : mapping.entries) {
    if (present.key != entry.key) continue;
    if (present.value.kind == Node::Kind::mapping && entry.value.kind == Node::Kind::mapping) {
      for (Entry& below : entry.value.entries) insert(present.value, std::move(below), key, problems);
    } else {
      problems.push_back(
          {key, place_text(entry.place), text("is given twice; first by ", place_text(present.place))});
    }
    return;
  }
  mapping.entries.push_back(std::move(entry));
}

Entry nested(std::span<const std::string> words, const SourcePlace& place, Node value) {
  if (words.size() == 1) return {.key = words.front(), .place = place, .value = std::move(value)};
  Node mapping = empty_mapping();
  mapping.entries.push_back(nested(words.subspan(1), place, std::move(value)));
  return {.key = words.front(), .place = place, .value = std::move(mapping)};
}

}  // namespace

Node empty_mapping() { return {.kind = Node::Kind::mapping, .text = {}, .items = {}, .entries = {}}; }

const Entry* find_value(const Node& tree, std::string_view key) {
  const Node* node = &tree;
  const Entry* found = nullptr;
  for (const auto& word : split(key, '.')) {
    found = node->kind == Node::Kind::mapping ? find_entry(*node, word) : nullptr;
    if (found == nullptr) return nullptr;
    node = &found->value;
  }
  return found;
}

void put_value(Node& tree, std::span<const std::string> words, const SourcePlace& place, Node value,
               Problems& problems) {
  insert(tree, nested(words, place, std::move(value)), "", problems);
}

}  // namespace larmor
