#include "larmor/config/load.h"

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/config/assignments.h"
#include "larmor/config/checks.h"
#include "larmor/config/reader.h"

namespace larmor {

namespace {

// An objective's section repeats every key of `optim`; only what was said of that objective is worth a line.
void drop_inherited(std::vector<Origin>& origins, const WorkloadFields& fields) {
  std::erase_if(origins, [&](const Origin& origin) {
    if (origin.origin != "built-in") return false;
    for (const auto& objective : fields.objectives) {
      if (origin.key.starts_with("optim." + objective + ".")) return true;
    }
    return false;
  });
}

}  // namespace

LoadedConfig load_config(const Sources& sources, const std::string& workload, const std::string& stage,
                         const WorkloadFields& fields) {
  std::vector<std::string> faults;
  const Assignments assignments(sources, faults);
  LoadedConfig loaded;
  loaded.config.workload = workload;
  loaded.config.stage = stage;
  Reader reader(assignments, faults);
  describe(loaded.config, fields, reader);
  reader.refuse_unknown_keys();
  loaded.origins = std::move(reader.origins());
  drop_inherited(loaded.origins, fields);
  if (faults.empty()) check_config(loaded.config, faults);
  if (!faults.empty()) {
    fail(Exit::usage, text(faults.size() == 1 ? "the configuration is wrong: " : "the configuration is wrong:\n  ", join(faults, "\n  ")),
         text("larmor config explain ", workload, " lists every key with its meaning"));
  }
  return loaded;
}

}  // namespace larmor
