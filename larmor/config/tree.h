// A config file as read, before anybody knows what its keys mean: values with their places.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace larmor {

struct Node {
  enum class Kind { null, scalar, list, map };
  Kind kind = Kind::null;
  std::string text;          // of a scalar
  bool quoted = false;       // a scalar in quotes is text, whatever it looks like
  std::vector<Node> items;   // of a list
  std::vector<std::pair<std::string, Node>> entries;  // of a map, in file order
  int line = 0;              // from 1
};

/// YAML, or JSON with comments. Throws Error (usage) with `place` and the line: syntax, duplicate keys,
/// anchors, aliases, tags, too deep, too long.
Node parse_tree(std::string_view source, const std::string& place);

}  // namespace larmor
