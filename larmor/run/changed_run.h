// A run that goes on with other words than it was begun with: what may be changed, and what is refused.
#pragma once

#include <string>
#include <vector>

#include "larmor/base/json.h"
#include "larmor/run/loaded_stage.h"
#include "larmor/run/run_change.h"
#include "larmor/run/run_folder.h"
#include "larmor/task/workload.h"

namespace larmor {

/// How a run that is there is asked to go on.
struct ChangeRequest {
  std::vector<std::string> words;  // key=value of `train RUN`
  bool accepts_config = false;     // a config.yaml that was edited
  bool has_first_words =
      false;  // those that the run was begun with: what `train RUN` has changed since stays
};

struct ChangedRun {
  LoadedStage loaded;
  std::vector<RunChange> changes;  // those of this start
  std::vector<std::string> notes;  // for people
};

/// The config of a run whose folder is held: its config with what is changed of it now. `asked`: by the words
/// of this start; how the work is shared counts from there. Throws Error: usage, with both values, where a
/// key differs that says what the run learns; environment where config.yaml lacks its end.
ChangedRun go_on_with(const RunFolder& folder, const Workload& workload, const LoadedConfig& asked,
                      const ChangeRequest& request, const Json& environment);

}  // namespace larmor
