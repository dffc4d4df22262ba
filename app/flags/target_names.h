// Words that stand where a workload or a run is named, and name neither.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "larmor/task/workload.h"

namespace larmor::app {

/// What is to be said, by each name that a person may have meant: of a workload its name, of a stage
/// `latent_diffusion --stage autoencoder`.
using TargetNames = std::map<std::string, std::string>;
TargetNames target_names(const std::vector<Workload>& workloads);

/// Throws Error (usage) with the nearest workload or stage.
[[noreturn]] void refuse_target(const std::string& name, const std::vector<Workload>& workloads);
/// Throws Error (usage) with what the second word may have been meant for: a stage of the workload that is
/// the first, data that lie there, or a file of a configuration.
[[noreturn]] void refuse_second_target(const std::string& first, const std::string& second,
                                       const std::vector<Workload>& workloads);

}  // namespace larmor::app
