#include "larmor/base/text.h"

#include "app/program.h"

namespace larmor::app {

namespace {

Json names_of(const std::vector<Need>& needs) {
  Json names = Json::array();
  for (const auto& need : needs) names.push_back(need.stage);
  return names;
}

Json details_of(const Workload& workload) {
  Json details = Json::array();
  for (const auto& stage : workload.stages()) {
    const auto& named = workload.named(stage);
    Json row;
    row["stage"] = stage;
    row["purpose"] = named.purpose;
    row["data"] = named.data;
    row["needs"] = names_of(named.needs);
    row["configs"] = shipped_configs(workload.name(), stage);
    row["config_purposes"] = Json::object();
    for (const auto& config : row["configs"]) {
      const auto name = config.get<std::string>();
      row["config_purposes"][name] = config_purpose(find_config(name, workload.name(), stage));
    }
    details.push_back(row);
  }
  return details;
}

Json row_of(const Workload& workload, const Json& details) {
  Json row;
  row["workload"] = workload.name();
  row["stages"] = workload.stages();
  row["configs"] = details[0]["configs"];  // of the stage that is meant where none is named
  row["stage_details"] = details;
  return row;
}

std::string joined(const Json& names) { return join(names.get<std::vector<std::string>>(), ", "); }

/// One line a stage where there are several: what each needs, and what ships for it.
Lines lines_of(const Workload& workload, const Json& details) {
  Lines lines(workload.name());
  lines.add("  stages   " + join(workload.stages(), ", "));
  if (details.size() == 1) return lines.add("  configs  " + joined(details[0]["configs"]));
  for (const auto& row : details) {
    lines.add(text("  ", row["stage"].get<std::string>()));
    if (!row["needs"].empty()) lines.add("    needs    " + joined(row["needs"]));
    lines.add("    configs  " + joined(row["configs"]));
  }
  return lines;
}

/// What each stage is for, and each of its configs.
Lines description_of(const Workload& workload, const Json& details) {
  Lines lines(workload.name());
  for (const auto& row : details) {
    lines.add(text("  ", row["stage"].get<std::string>(), ": ", row["purpose"].get<std::string>()))
        .add("    data     " + row["data"].get<std::string>());
    if (!row["needs"].empty()) lines.add("    needs    " + joined(row["needs"]));
    for (const auto& [name, purpose] : row["config_purposes"].items())
      lines.add(text("    -c ", name, ": ", purpose.get<std::string>()));
  }
  return lines.add(text("larmor plan ", workload.name(),
                        " --stage STAGE -c NAME shows what one takes here: "
                        "memory, steps and disk"));
}

int list(Program& program) {
  const auto& named = program.arguments().target;
  program.refuse_overrides();
  if (!named.empty()) {
    const auto& workload = program.workload(named);
    const auto details = details_of(workload);
    program.show(Json::array({row_of(workload, details)}), description_of(workload, details));
    return 0;
  }
  Json all = Json::array();
  Lines lines;
  for (const auto& workload : program.workloads()) {
    const auto details = details_of(workload);
    all.push_back(row_of(workload, details));
    lines.add(lines_of(workload, details));
  }
  program.show(all, lines);
  return 0;
}

}  // namespace

void add_list(Program& program) {
  auto& verb =
      program.add_verb("list", "the workloads, their stages and shipped configs; of one, what each is for",
                       [&program] { return list(program); });
  program.add_target(verb, "NAME", "a workload; none: all of them");
}

}  // namespace larmor::app
