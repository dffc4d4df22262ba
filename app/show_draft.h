// How `plan` and `train --dry-run` show what a run would be.
#pragma once

#include <optional>

#include "larmor/run/run_setup.h"

#include "app/program.h"

namespace larmor::app {

/// Where the run would lie on this machine.
struct DraftPlace {
  RunFolder folder;
  bool goes_on_without_room = false;
};

/// The folder of a run that has no folder yet; one without a name lies somewhere below the folder of all.
RunFolder folder_to_be(const RunConfig& config);

/// The plan, and below it, or under `data`, what would be trained on. Data that are only supposed are none.
/// Of a run on this machine also how long a step took when it was last tried (`train --try`), what its ranks
/// may open, and whether its checkpoints have room: throws Error (environment), when all has been shown,
/// where they certainly have none.
void show_draft(Program& program, const RunDraft& draft, const LoadedConfig& loaded,
                const std::optional<DraftPlace>& place);

}  // namespace larmor::app
