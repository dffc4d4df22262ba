#include "larmor/base/text.h"

#include "app/program.h"

namespace larmor::app {

void add_list(Program& program) {
  program.add_verb("list", "the workloads, their stages and shipped configs", [&program] {
    Json all = Json::array();
    Lines lines;
    for (const auto& workload : program.workloads()) {
      const auto configs = shipped_configs(workload.name());
      Json row;
      row["workload"] = workload.name();
      row["stages"] = workload.stages();
      row["configs"] = configs;
      all.push_back(row);
      lines.add(workload.name())
          .add("  stages   " + join(workload.stages(), ", "))
          .add("  configs  " + join(configs, ", "));
    }
    program.show(all, lines);
    return 0;
  });
}

}  // namespace larmor::app
