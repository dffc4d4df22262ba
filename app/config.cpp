// The resolved config, where each value came from, and the schema of what may be said.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

#include "app/import/import_config.h"
#include "app/program.h"

namespace larmor::app {

namespace {

/// How a stage's parameters learn, where they do not all learn alike.
struct Groups {
  std::vector<ObjectiveGroup> groups;
  std::string unknown;  // why they are not known yet: a file that the stage reads, an earlier run
};

constexpr const char* rate_key = "optim.learning_rate";

Groups groups_of(const LoadedStage& loaded) {
  try {
    return {.groups = loaded.stage->groups(loaded.config.config), .unknown = {}};
  } catch (const Error& error) {
    return {.groups = {}, .unknown = error.message()};
  }
}

Json origins_of(const LoadedConfig& config) {
  Json all = Json::array();
  for (const auto& origin : config.origins) {
    Json row;
    row["key"] = origin.key;
    row["value"] = origin.value;
    row["origin"] = origin.origin;
    row["overrode"] = origin.overrode;
    row["help"] = origin.help;
    all.push_back(row);
  }
  return all;
}

/// Whether it is one of the keys that were asked for, or below one; of none, each is.
bool is_asked(const std::string& key, const std::vector<std::string>& asked) {
  const auto has = [&](const std::string& one) { return key == one || key.starts_with(one + "."); };
  return asked.empty() || std::ranges::any_of(asked, has);
}

/// Leaves the origins of the keys that were asked for. Throws Error (usage) for one that there is not.
void keep_asked(LoadedConfig& config, const std::vector<std::string>& asked, const WorkloadFields& fields) {
  for (const auto& one : asked) {
    const auto covers = [&](const Origin& origin) { return is_asked(origin.key, {one}); };
    if (std::ranges::any_of(config.origins, covers)) continue;
    const auto hint = hint_for_key(one, fields);
    fail(Exit::usage, text("there is no key ", one),
         hint.empty() ? text("`larmor config explain ", config.config.workload, "` shows every key") : hint);
  }
  std::erase_if(config.origins, [&](const Origin& origin) { return !is_asked(origin.key, asked); });
}

/// The row of the learning rate has the groups that learn by another.
void add_groups(Json& rows, const Groups& groups) {
  if (groups.groups.empty()) return;
  for (Json& row : rows) {
    if (row["key"] == rate_key) row["groups"] = to_json(groups.groups);
  }
}

Lines explanation(const LoadedConfig& config, const Groups& groups) {
  Lines lines;
  for (const auto& origin : config.origins) {
    lines.add(text(origin.key, ": ", origin.value))
        .add(text("    ", origin.help))
        .add(text("    from ", origin.origin,
                  origin.overrode.empty() ? "" : text(", in place of ", origin.overrode)));
    if (origin.key != rate_key) continue;
    if (!groups.groups.empty()) lines.add(text("    parameters learn in ", groups.groups.size(), " groups:"));
    for (const auto& group : groups.groups) lines.add(text("      ", describe(group)));
    if (!groups.unknown.empty())
      lines.add(text("    in which groups parameters learn is not known yet: ", groups.unknown));
  }
  return lines;
}

/// Beside the keys of the stage the sections of a file that are for one stage alone.
Json schema_of(const Workload& workload, const std::string& stage) {
  const auto keys_of = [&](const std::string& name) {
    return config_schema(fields_of(workload, name, *workload.stage(name)));
  };
  auto schema = keys_of(stage);
  for (const auto& name : workload.stages()) {
    auto section = keys_of(name);
    for (const char* const of_document : {"$schema", "title"}) section.erase(of_document);
    section["description"] = text("keys for the stage ", name, " alone");
    schema["properties"][name] = std::move(section);
  }
  return schema;
}

int config(Program& program, const std::string& what) {
  const auto& workload = program.workload(program.arguments().target);
  if (what == "schema") {
    const auto schema = schema_of(workload, program.stage_of(workload));
    program.show(schema, Lines().add_text(to_text(schema)));
    return 0;
  }
  auto loaded = program.load_to_show(workload);
  const auto& asked = program.arguments().keys;
  if (!asked.empty()) {
    const auto stage = program.stage_of(workload);
    keep_asked(loaded.config, asked, fields_of(workload, stage, *workload.stage(stage)));
  }
  auto rows = origins_of(loaded.config);
  if (what == "show") {
    program.show(rows, Lines().add_text(loaded.config.to_yaml(/*with_origins=*/true)));
    return 0;
  }
  const auto groups = groups_of(loaded);
  add_groups(rows, groups);
  program.show(rows, explanation(loaded.config, groups));
  return 0;
}

}  // namespace

void add_config(Program& program) {
  auto& family = program.add_family("config", "the resolved config: show, explain, schema; import");
  for (const auto& [name, help] :
       {std::pair{"show", "the resolved values with their origins"},
        std::pair{"explain",
                  "every value, or those of KEY …, with its meaning, its origin and what it overrode"},
        std::pair{"schema", "JSON Schema of all keys"}}) {
    program.add_workload_verb(
        name, help, [&program, what = std::string(name)] { return config(program, what); },
        {.stages = WorkloadVerb::Stages::each,
         .more_words = name == std::string_view("explain") ? "KEY" : ""},
        &family);
  }
  add_import(program, family);
}

}  // namespace larmor::app
