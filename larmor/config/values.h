// Every value of a configuration by its key, as text: for comparing.
#pragma once

#include <map>
#include <string>

#include "larmor/config/run_config.h"

namespace larmor {

/// "train.global_batch" -> "4". `fields` are those that the workload's part of the config was read into.
std::map<std::string, std::string> values_of(const RunConfig& config, const WorkloadFields& fields);

}  // namespace larmor
