#include "larmor/config/load.h"

#include <algorithm>
#include <cassert>
#include <deque>
#include <set>
#include <span>
#include <system_error>
#include <utility>
#include <variant>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/printable.h"
#include "larmor/base/text.h"
#include "larmor/config/checks.h"
#include "larmor/config/data_keys.h"
#include "larmor/config/foreign/accelerate.h"
#include "larmor/config/foreign/foreign_file.h"
#include "larmor/config/leaf.h"
#include "larmor/config/reader.h"
#include "larmor/config/saved.h"
#include "larmor/config/scalar.h"
#include "larmor/config/source.h"
#include "larmor/config/tree.h"

namespace larmor {
namespace {

// Trees refer to their sources, so neither may move.
struct Forest {
  std::deque<Source> sources;
  std::deque<Node> trees;  // least trusted first
  std::vector<std::string> notes;
};

bool is_stage(const Entry& entry, const std::vector<std::string>& stages) {
  return std::ranges::find(stages, entry.key) != stages.end();
}

/// Takes the sections that are called after stages out of a file's tree. Gives the one of `stage`.
Node take_section(Node& tree, const std::vector<std::string>& stages, const std::string& stage,
                  Problems& problems) {
  Node own = empty_mapping();
  for (Entry& entry : tree.entries) {
    if (!is_stage(entry, stages) || entry.value.kind == Node::Kind::nothing) continue;
    if (entry.value.kind != Node::Kind::mapping) {
      problems.push_back({entry.key, place_text(entry.place),
                          text("is ", shown(entry.value), ", and not a section of keys for that stage")});
    } else if (entry.key == stage) {
      own = std::move(entry.value);
    }
  }
  std::erase_if(tree.entries, [&](const Entry& entry) { return is_stage(entry, stages); });
  return own;
}

void read_file(const std::filesystem::path& path, const std::vector<std::string>& stages,
               const std::string& stage, const GuideFiles& guide_files, Forest& forest, Problems& problems) {
  Source& source = forest.sources.emplace_back();
  source.name = path.string();
  source.short_name = printable(path.filename().string());  // it becomes a comment of config.yaml
  source.is_file = true;
  try {
    const std::string content = read_text(path, most_config_bytes);
    source.saved_origins = saved_origins(content);
    Node tree = parse_config(content, source, problems);
    if (auto translation = translate_foreign_file(content, tree, guide_files, stages, problems)) {
      tree = std::move(translation->tree);
      forest.notes.insert(forest.notes.end(), translation->notes.begin(), translation->notes.end());
    }
    Node own = take_section(tree, stages, stage, problems);
    forest.trees.push_back(std::move(tree));
    forest.trees.push_back(std::move(own));
  } catch (const Error& error) {
    problems.push_back({"", source.name, error.message()});
  }
}

/// What another launcher asks for counts more than what ships, and less than what a person says. It is the
/// last tree then.
void read_launcher(const std::map<std::string, std::string>& environment, Forest& forest,
                   Problems& problems) {
  auto translation = translate_accelerate_environment(environment, forest.sources, problems);
  forest.notes.insert(forest.notes.end(), translation.notes.begin(), translation.notes.end());
  forest.trees.push_back(std::move(translation.tree));
}

/// Where a person says one thing and the launcher another, neither is meant.
void find_contradictions(const Node& asked, const std::vector<Origin>& origins, Problems& problems) {
  for (const Origin& origin : origins) {
    const Entry* const launcher = find_value(asked, origin.key);
    if (launcher == nullptr || launcher->value.text == origin.value) continue;
    const auto number = as_number(launcher->value.text);
    if (origin.origin == origin_text(launcher->place) || (number && number == as_number(origin.value)))
      continue;
    problems.push_back({origin.key, origin.origin,
                        text("is ", origin.value, ", and ", origin_text(launcher->place), " asks for ",
                             launcher->value.text, ": take one of them out")});
  }
}

// The words between double underscores: TRAIN__GLOBAL_BATCH is train, global_batch.
std::vector<std::string> keys_of_variable(std::string_view name) {
  std::vector<std::string> words;
  for (size_t end = name.find("__"); end != std::string_view::npos; end = name.find("__")) {
    words.push_back(lower(name.substr(0, end)));
    name.remove_prefix(end + 2);
  }
  words.push_back(lower(name));
  return words;
}

void read_environment(const std::map<std::string, std::string>& environment, Forest& forest,
                      Problems& problems) {
  constexpr std::string_view prefix = "LARMOR_";
  Node tree = empty_mapping();
  for (const auto& [name, value] : environment) {
    if (!name.starts_with(prefix) || name.find("__", prefix.size()) == std::string::npos) continue;
    Source& source = forest.sources.emplace_back();
    source.name = source.short_name = text("environment ", name);
    const auto words = keys_of_variable(std::string_view(name).substr(prefix.size()));
    auto node = parse_value(value, join(words, "."), source, problems);
    if (node) put_value(tree, words, {&source, 0}, std::move(*node), problems);
  }
  forest.trees.push_back(std::move(tree));
}

void read_overrides(const std::vector<std::string>& overrides, Forest& forest, Problems& problems) {
  Source& source = forest.sources.emplace_back();
  source.name = source.short_name = "command line";
  Node tree = empty_mapping();
  for (const std::string& override : overrides) {
    const size_t sign = override.find('=');
    const std::string key(trim(std::string_view(override).substr(0, sign)));
    if (sign == std::string::npos || key.empty()) {
      problems.push_back({"", source.name, text("\"", override, "\" is no key=value")});
      continue;
    }
    auto node = parse_value(std::string_view(override).substr(sign + 1), key, source, problems);
    if (node) put_value(tree, split(key, '.'), {&source, 0}, std::move(*node), problems);
  }
  forest.trees.push_back(std::move(tree));
}

[[noreturn]] void refuse(const Problems& problems, const std::string& workload) {
  std::vector<std::string> lines;
  for (const Problem& problem : std::span(problems).first(std::min(problems.size(), most_problems_shown))) {
    lines.push_back(text(problem.place, ": ", problem.key, problem.key.empty() ? "" : " ", problem.what));
  }
  if (problems.size() > most_problems_shown)
    lines.push_back(text("and ", problems.size() - most_problems_shown, " more"));
  const std::string title = text("the configuration has ", problems.size(), " faults:");
  fail(Exit::usage, problems.size() == 1 ? lines.front() : title + items(lines),
       text("`larmor config explain ", workload, "` shows every key and its meaning"));
}

/// Sets what each origin shows to what the listing makes of the value: one that may be written short, such as
/// a number for all levels, stands in full from here on.
class Shower final : public LeafVisitor {
 public:
  explicit Shower(std::vector<Origin>& origins) : next_(origins.begin()), end_(origins.end()) {}
  void section(const char*, const std::function<void(Fields&)>& describe) override { describe(*this); }

 protected:
  void visit(const Leaf& leaf) override {
    assert(next_ != end_);  // a listing is the same every time
    (next_++)->value = value_text(leaf);
  }

 private:
  std::vector<Origin>::iterator next_, end_;
};

void show_as_understood(LoadedConfig& loaded, const WorkloadFields& fields) {
  Shower shower(loaded.origins);
  describe(loaded.config, fields, shower);
}

/// Where the files and folders are that a config names.
class PathFinder final : public LeafVisitor {
 public:
  PathFinder(const Sources& sources, std::map<std::string, LoadedConfig::NamedPath>& paths)
      : sources_(sources), paths_(paths) {}
  void section(const char* name, const std::function<void(Fields&)>& describe) override {
    const std::string around = std::exchange(prefix_, text(prefix_, name, '.'));
    describe(*this);
    prefix_ = around;
  }

 protected:
  void visit(const Leaf& leaf) override {
    if (!leaf.is_path) return;
    auto& value = *std::get<std::string*>(leaf.target);
    if (value.empty() || value == "auto") return;
    const std::string key = prefix_ + leaf.name, said = value;
    if (sources_.find_path) value = sources_.find_path(key, said);
    std::error_code unknown;
    const auto absolute = std::filesystem::absolute(value, unknown);
    paths_[key] = {.said = said, .is = unknown ? value : absolute.lexically_normal().string()};
  }

 private:
  const Sources& sources_;
  std::map<std::string, LoadedConfig::NamedPath>& paths_;
  std::string prefix_;
};

}  // namespace

LoadedConfig load_config(const Sources& sources, const std::string& workload, const std::string& stage,
                         const WorkloadFields& fields) {
  Forest forest;
  Problems problems;
  size_t shipped = 0;           // of the trees
  const Node* asked = nullptr;  // by another launcher
  for (size_t i = 0; i < sources.files.size(); ++i) {
    read_file(sources.files[i], sources.stages, stage, fields.guide_files, forest, problems);
    if (i + 1 != std::min(sources.shipped, sources.files.size())) continue;
    shipped = forest.trees.size();
    read_launcher(sources.environment, forest, problems);
    asked = &forest.trees.back();
  }
  read_environment(sources.environment, forest, problems);
  read_overrides(sources.overrides, forest, problems);

  std::vector<const Node*> trees;
  for (const Node& tree : forest.trees) trees.push_back(&tree);
  std::set<std::string> inheriting;
  for (const std::string& objective : fields.objectives) inheriting.insert("optim." + objective);
  const KeyList known = list_keys(fields);

  LoadedConfig loaded;
  loaded.config.workload = workload;
  loaded.config.stage = stage;
  loaded.notes = std::move(forest.notes);
  Reader reader(trees, known, std::move(inheriting), problems);
  describe(loaded.config, fields, reader);
  reader.finish();
  loaded.origins = reader.take_origins();
  show_as_understood(loaded, fields);
  if (asked != nullptr) find_contradictions(*asked, loaded.origins, problems);
  check_together(loaded.config, loaded.origins, sources.is_draft, problems);
  check_data_keys(loaded.config, fields, loaded.origins, trees, shipped, problems);
  if (!problems.empty()) refuse(problems, workload);
  PathFinder finder(sources, loaded.paths);
  describe(loaded.config, fields, finder);
  return loaded;
}

void refuse_other_launch(const LoadedConfig& loaded, const std::map<std::string, std::string>& environment) {
  Forest forest;
  Problems problems;
  read_launcher(environment, forest, problems);
  find_contradictions(forest.trees.back(), loaded.origins, problems);
  if (!problems.empty()) refuse(problems, loaded.config.workload);
}

std::string hint_for_key(const std::string& key, const WorkloadFields& fields) {
  return suggestion(key, list_keys(fields));
}

}  // namespace larmor
