// Which keys of the section `data` which kind of data reads.
#pragma once

#include <span>
#include <string>

#include "larmor/config/load.h"
#include "larmor/config/source.h"

namespace larmor {

/// Refuses keys that a person has given, no earlier than the kind, and that this kind never reads. `trees`
/// are least trusted first, and the first `shipped` of them are no person's.
void check_data_keys(const RunConfig& config, const WorkloadFields& fields, std::span<const Origin> origins,
                     std::span<const Node* const> trees, size_t shipped, Problems& problems);

}  // namespace larmor
