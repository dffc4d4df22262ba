// What a single field cannot see: values that do not go together.
#pragma once

#include <span>

#include "larmor/config/load.h"
#include "larmor/config/source.h"

namespace larmor {

void check_together(const RunConfig& config, std::span<const Origin> origins, Problems& problems);

}  // namespace larmor
