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
    Json row;
    row["stage"] = stage;
    row["needs"] = names_of(workload.named(stage).needs);
    row["configs"] = shipped_configs(workload.name(), stage);
    details.push_back(row);
  }
  return details;
}

/// One line a stage where there are several: what each needs, and what ships for it.
Lines lines_of(const Workload& workload, const Json& details) {
  const auto joined = [](const Json& names) { return join(names.get<std::vector<std::string>>(), ", "); };
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

}  // namespace

void add_list(Program& program) {
  program.add_verb("list", "the workloads, their stages and shipped configs", [&program] {
    Json all = Json::array();
    Lines lines;
    for (const auto& workload : program.workloads()) {
      const auto details = details_of(workload);
      Json row;
      row["workload"] = workload.name();
      row["stages"] = workload.stages();
      row["configs"] = details[0]["configs"];  // of the stage that is meant where none is named
      row["stage_details"] = details;
      all.push_back(row);
      lines.add(lines_of(workload, details));
    }
    program.show(all, lines);
    return 0;
  });
}

}  // namespace larmor::app
