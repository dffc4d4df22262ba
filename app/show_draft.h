// How `plan` and `train --dry-run` show what a run would be.
#pragma once

#include "larmor/train/run_setup.h"

#include "app/program.h"

namespace larmor::app {

/// The plan, and below it, or under `data`, what would be trained on. Data that are only supposed are none.
void show_draft(Program& program, const RunDraft& draft, const RunConfig& config);

}  // namespace larmor::app
