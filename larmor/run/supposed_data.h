// A plan before any data are named.
#pragma once

#include <optional>

#include "larmor/run/run_setup.h"

namespace larmor {

/// draft_run(), also before data are named: then of a supposed number of cases, which the plan's reasons say
/// first. Throws Error as the stage's index() does where the stage cannot be counted without data.
RunDraft draft_run_to_show(const LoadedStage& loaded, const std::optional<Hardware>& hardware = {});

}  // namespace larmor
