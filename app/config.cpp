// The resolved config, where each value came from, and the schema of what may be said.
#include "larmor/base/error.h"
#include "larmor/base/text.h"

#include "app/program.h"

namespace larmor::app {

namespace {

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

Lines explanation(const LoadedConfig& config) {
  Lines lines;
  for (const auto& origin : config.origins) {
    lines.add(text(origin.key, ": ", origin.value))
        .add(text("    ", origin.help))
        .add(text("    from ", origin.origin,
                  origin.overrode.empty() ? "" : text(", in place of ", origin.overrode)));
  }
  return lines;
}

int config(Program& program, const std::string& what) {
  const auto& workload = program.workload(program.arguments().target);
  if (what == "schema") {
    const auto name = program.stage_of(workload);
    const auto schema = config_schema(fields_of(workload, name, *workload.stage(name)));
    program.show(schema, Lines().add_text(to_text(schema)));
    return 0;
  }
  const auto loaded = program.load_to_show(workload).config;
  program.show(origins_of(loaded), what == "show" ? Lines().add_text(loaded.to_yaml(/*with_origins=*/true))
                                                  : explanation(loaded));
  return 0;
}

}  // namespace

void add_config(Program& program) {
  auto& family = program.add_family("config", "the resolved config: show, explain, schema");
  for (const auto& [name, help] :
       {std::pair{"show", "the resolved values with their origins"},
        std::pair{"explain", "every value with its meaning, its origin and what it overrode"},
        std::pair{"schema", "JSON Schema of all keys"}}) {
    program.add_workload_verb(
        name, help, [&program, what = std::string(name)] { return config(program, what); }, &family);
  }
}

}  // namespace larmor::app
