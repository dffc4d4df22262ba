#include "larmor/run/run_change.h"

#include <algorithm>
#include <set>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/text.h"

namespace larmor {

namespace {

/// The dotted keys of a config as we write it, a line each.
std::set<std::string> keys_in(const std::string& yaml) {
  std::set<std::string> keys;
  std::vector<std::string> sections;
  for (const auto& line : split(yaml, '\n')) {
    const auto indent = line.find_first_not_of(' ');
    const auto colon = line.find(':');
    if (indent == std::string::npos || colon == std::string::npos || line[indent] == '#') continue;
    sections.resize(std::min(sections.size(), indent / 2));
    sections.push_back(line.substr(indent, colon - indent));
    keys.insert(join(sections, "."));
  }
  return keys;
}

std::string key_of(const std::string& word) { return word.substr(0, word.find('=')); }

}  // namespace

std::vector<RunChange> changes_of(const Json& environment) {
  std::vector<RunChange> changes;
  for (const auto& one : environment.value("changes", Json::array())) {
    changes.push_back({.generation = one.at("generation").get<int64_t>(),
                       .words = one.at("what").get<std::string>(),
                       .is_bitwise = one.at("bitwise").get<bool>()});
  }
  return changes;
}

Json to_json(const std::vector<RunChange>& changes) {
  Json json = Json::array();
  for (const auto& change : changes)
    json.push_back(
        {{"generation", change.generation}, {"what", change.words}, {"bitwise", change.is_bitwise}});
  return json;
}

Json values_to_find(const LoadedConfig& config) {
  Json values = Json::array();
  for (const auto& origin : config.origins) {
    if (LoadedConfig::defines_the_run(origin.key)) values.push_back(text(origin.key, "=", origin.value));
  }
  return values;
}

std::vector<KeyDifference> edits_of(const LoadedConfig& config, const Json& environment) {
  std::vector<KeyDifference> edits;
  for (const auto& word : environment.value("config", std::vector<std::string>())) {
    const auto key = key_of(word), was = word.substr(key.size() + 1);
    const auto now = std::ranges::find(config.origins, key, &Origin::key);
    const auto is = now == config.origins.end() ? std::string() : now->value;
    if (is != was) edits.push_back({.key = key, .ours = was, .theirs = is});
  }
  return edits;
}

void refuse_cut_config(const RunFolder& folder, const Json& environment) {
  const auto yaml = read_text(folder.config());
  const auto written = environment.value("config", std::vector<std::string>());
  const auto keys = keys_in(yaml);
  // A line or two may have been taken out by hand.
  constexpr size_t enough = 3;
  const auto last = written.end() - static_cast<std::ptrdiff_t>(std::min(enough, written.size()));
  const bool is_cut = written.size() > enough && std::all_of(last, written.end(), [&](const auto& word) {
                        return !keys.contains(key_of(word));
                      });
  if (!keys.empty() && !is_cut) return;
  fail(Exit::environment,
       text(folder.config().string(), keys.empty() ? " is empty" : " is cut short: its end is not there"),
       text("copy it again from where the run came from",
            written.empty()
                ? std::string()
                : text("; the values are also in ", folder.environment().string(), " under \"config\"")));
}

}  // namespace larmor
