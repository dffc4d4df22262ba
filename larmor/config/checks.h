// What a single field cannot see: values that do not go together.
#pragma once

#include <span>

#include "larmor/config/load.h"
#include "larmor/config/source.h"

namespace larmor {

/// `is_draft`: a value that a person has yet to give is no fault.
void check_together(const RunConfig& config, std::span<const Origin> origins, bool is_draft,
                    Problems& problems);

}  // namespace larmor
