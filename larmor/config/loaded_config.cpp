#include <algorithm>
#include <array>

#include "larmor/base/error.h"
#include "larmor/base/hash.h"
#include "larmor/base/text.h"
#include "larmor/config/assignments.h"
#include "larmor/config/load.h"
#include "larmor/config/reader.h"

namespace larmor {

namespace {

// Where a run is kept and on what it runs do not make it another run.
constexpr std::array<std::string_view, 4> not_part_of_a_run{"run.folder", "run.name", "parallel.ranks", "parallel.device"};

bool counts(const std::string& key) {
  return std::find(not_part_of_a_run.begin(), not_part_of_a_run.end(), key) == not_part_of_a_run.end();
}

const Origin* find(const std::vector<Origin>& origins, const std::string& key) {
  const auto found = std::find_if(origins.begin(), origins.end(), [&](const Origin& origin) { return origin.key == key; });
  return found == origins.end() ? nullptr : &*found;
}

// `auto` equals whatever it was frozen to.
bool same_choice(const Origin& a, const Origin& b) {
  return a.value == b.value || (a.value == "auto" && b.origin == "plan") || (b.value == "auto" && a.origin == "plan");
}

std::vector<std::string> sections_of(const std::string& key) {
  auto parts = split(key, '.');
  parts.pop_back();
  return parts;
}

}  // namespace

std::string LoadedConfig::to_yaml(bool with_origins) const {
  constexpr size_t comment_column = 64;
  std::string out = with_origins ? std::string(resolved_marker) + "\n" : "";
  std::vector<std::string> open;
  for (const auto& origin : origins) {
    const auto sections = sections_of(origin.key);
    size_t common = 0;
    while (common < open.size() && common < sections.size() && open[common] == sections[common]) ++common;
    for (size_t depth = common; depth < sections.size(); ++depth) {
      out += text(std::string(depth * 2, ' '), sections[depth], ":\n");
    }
    open = sections;
    auto line = text(std::string(sections.size() * 2, ' '), origin.key.substr(origin.key.rfind('.') + 1), ": ", origin.value);
    if (with_origins) {
      if (line.size() < comment_column) line.resize(comment_column, ' ');
      line += "  # " + origin.origin;
    }
    out += line + "\n";
  }
  return out;
}

std::string LoadedConfig::sha256() const {
  std::string lines = text(config.workload, "\n", config.stage, "\n");
  for (const auto& origin : origins) {
    if (counts(origin.key)) lines += text(origin.key, "=", origin.value, "\n");
  }
  return larmor::sha256(lines);
}

std::vector<std::string> LoadedConfig::differing_keys(const LoadedConfig& other) const {
  std::vector<std::string> keys;
  for (const auto& mine : origins) {
    const auto* theirs = find(other.origins, mine.key);
    if (counts(mine.key) && (theirs == nullptr || !same_choice(mine, *theirs))) keys.push_back(mine.key);
  }
  for (const auto& theirs : other.origins) {
    if (counts(theirs.key) && find(origins, theirs.key) == nullptr) keys.push_back(theirs.key);
  }
  return keys;
}

void LoadedConfig::freeze(const std::string& key, const std::string& value) {
  const auto place = std::find_if(origins.begin(), origins.end(), [&](const Origin& origin) { return origin.key == key; });
  if (place == origins.end()) fail(Exit::unexpected, text("there is no key ", key, " to freeze"));
  if (place->value != "auto") return;
  // Everything else is said again as it stands, so that the struct and the origins keep telling the same.
  std::vector<std::string> faults;
  Sources said;
  for (const auto& origin : origins) {
    if (origin.key.starts_with("model.") || origin.key.starts_with("loss.")) continue;
    said.overrides.push_back(text(origin.key, "=", origin.key == key ? value : origin.value));
  }
  WorkloadFields objectives;
  for (const auto& [name, optim] : config.objectives) objectives.objectives.push_back(name);
  const Assignments assignments(said, faults);
  Reader reader(assignments, faults);
  describe(config, objectives, reader);
  if (!faults.empty()) fail(Exit::unexpected, text("the plan's ", key, "=", value, " does not fit the config: ", join(faults, "; ")));
  place->value = value;
  place->origin = "plan";
}

}  // namespace larmor
