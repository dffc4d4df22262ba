#include "larmor/config/assignments.h"

#include <algorithm>
#include <functional>
#include <set>

#include "larmor/base/error.h"
#include "larmor/base/file.h"
#include "larmor/base/text.h"
#include "larmor/config/values.h"

namespace larmor {

namespace {

constexpr uint64_t largest_file = uint64_t{1} << 20;

std::string joined(const std::string& section, const std::string& key) { return section.empty() ? key : section + "." + key; }

/// Calls `visit` for every leaf below a node: everything that is not a non-empty map.
void each_leaf(const std::string& key, const Node& node, const std::function<void(const std::string&, const Node&)>& visit) {
  if (node.kind != Node::Kind::map) {
    visit(key, node);
    return;
  }
  for (const auto& [name, value] : node.entries) each_leaf(joined(key, name), value, visit);
}

// "LARMOR_TRAIN__GLOBAL_BATCH" -> "train.global_batch"; "" when it is no key.
std::string key_of_variable(const std::string& variable) {
  constexpr std::string_view prefix = "LARMOR_";
  if (!variable.starts_with(prefix)) return "";
  auto rest = lower(variable.substr(prefix.size()));
  if (rest.find("__") == std::string::npos) return "";
  for (auto at = rest.find("__"); at != std::string::npos; at = rest.find("__", at)) rest.replace(at, 2, ".");
  return rest;
}

// The comment behind a value in a resolved config.
std::string comment_of(const std::vector<std::string>& lines, int line) {
  if (line < 1 || static_cast<size_t>(line) > lines.size()) return "";
  const auto& content = lines[static_cast<size_t>(line) - 1];
  const auto start = content.rfind("  # ");
  return start == std::string::npos ? "" : std::string(trim(content.substr(start + 4)));
}

}  // namespace

Assignments::Assignments(const Sources& sources, std::vector<std::string>& faults) {
  for (const auto& file : sources.files) add_file(file, faults);
  for (const auto& [variable, value] : sources.environment) {
    const auto key = key_of_variable(variable);
    if (key.empty()) continue;
    const auto origin = "environment " + variable;
    each_leaf(key, parse_tree(value, origin), [&](const std::string& leaf, const Node& node) { add(leaf, node, origin); });
  }
  std::set<std::string> given;
  for (const auto& word : sources.overrides) {
    const auto equals = word.find('=');
    const auto key = std::string(trim(word.substr(0, equals)));
    if (equals == std::string::npos || key.empty()) {
      faults.push_back(text("command line: '", word, "' is not of the form key=value"));
      continue;
    }
    each_leaf(key, parse_tree(word.substr(equals + 1), "command line, " + key), [&](const std::string& leaf, const Node& node) {
      if (!given.insert(leaf).second) faults.push_back(text(leaf, ": given twice on the command line"));
      add(leaf, node, "command line");
    });
  }
}

void Assignments::add_file(const std::filesystem::path& path, std::vector<std::string>& faults) {
  std::string source;
  try {
    source = read_text(path, largest_file);
  } catch (const Error& error) {
    fail(Exit::usage, error.message(), "check the name given with -c");
  }
  const auto root = parse_tree(source, path.string());
  if (root.kind == Node::Kind::null) return;
  if (root.kind != Node::Kind::map) {
    faults.push_back(text(path.string(), ": holds ", name_of(root), " where sections were expected"));
    return;
  }
  const bool resolved = source.starts_with(resolved_marker);
  const auto lines = resolved ? split(source, '\n') : std::vector<std::string>{};
  each_leaf("", root, [&](const std::string& key, const Node& node) {
    const auto comment = resolved ? comment_of(lines, node.line) : "";
    add(key, node, comment.empty() ? text(path.filename().string(), ":", node.line) : comment);
  });
}

void Assignments::add(const std::string& key, const Node& node, const std::string& origin) {
  by_key_[key].push_back({node, origin});
}

const std::vector<Assignment>* Assignments::find(const std::string& key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : &found->second;
}

}  // namespace larmor
