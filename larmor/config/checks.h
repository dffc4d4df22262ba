// What must hold between fields, beyond what each one says of itself.
#pragma once

#include <string>
#include <vector>

#include "larmor/config/run_config.h"

namespace larmor {

/// Adds one sentence for each rule that is broken.
void check_config(const RunConfig& config, std::vector<std::string>& faults);

}  // namespace larmor
