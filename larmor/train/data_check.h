// Whether a run's data will do, asked before any rank starts.
#pragma once

#include "larmor/config/run_config.h"
#include "larmor/data/index.h"

namespace larmor {

/// Throws Error (data): every file that cannot be used, all of them listed; a split that training needs and
/// that has no cases. Reads the beginnings and ends of all files. Blocks.
void check_data(const Index& index, const RunConfig& config);

}  // namespace larmor
