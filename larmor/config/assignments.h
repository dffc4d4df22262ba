// Every value that somebody set, by dotted key, with where it was said; later sources win.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "larmor/config/load.h"
#include "larmor/config/tree.h"

namespace larmor {

struct Assignment {
  Node value;
  std::string origin;  // "default.yaml:12", "environment LARMOR_…", "command line", "plan"
};

class Assignments {
 public:
  /// Reads all sources in order. Faults that concern one entry go to `faults`; a file that cannot be read
  /// or parsed throws Error (usage).
  Assignments(const Sources& sources, std::vector<std::string>& faults);

  /// All that was said of a key, the least trusted first; nothing when nobody spoke of it.
  const std::vector<Assignment>* find(const std::string& key) const;
  const std::map<std::string, std::vector<Assignment>>& all() const { return by_key_; }

 private:
  void add_file(const std::filesystem::path& path, std::vector<std::string>& faults);
  void add(const std::string& key, const Node& node, const std::string& origin);

  std::map<std::string, std::vector<Assignment>> by_key_;
};

/// The first line of a run's own config.yaml: its trailing comments say where values came from.
inline constexpr const char* resolved_marker = "# The resolved configuration of a run; comments say where each value came from.";

}  // namespace larmor
