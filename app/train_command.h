// What the ranks of a training run. Each agent makes it of its own words; the leader tells the others only
// what they cannot know, and all compare what it has become.
#pragma once

#include <filesystem>
#include <string>

#include "larmor/checkpoint/checkpoint.h"
#include "larmor/launch/hosts/host.h"
#include "larmor/run/run_folder.h"

#include "app/train/agent.h"
#include "app/train/lead.h"

namespace larmor::app {

/// Where the run of a request lives: the folder above it. All agents of a start name the same.
std::filesystem::path folder_of_runs(const TrainRequest& request);

/// What was asked of `train`, as one hash. Call before the request is used up.
std::string hash_of_request(const Json& words);

/// The run's folder by the name that the leader says. Throws Error (usage) when that is not the run that was
/// asked for, or no name that larmor gives to a new one.
RunFolder run_named(const TrainRequest& request, const std::string& name);

/// Where the leader's ranks begin, as others are told of it.
int64_t resume_step_of(const RunFolder& folder, const std::optional<CheckpointEntry>& resume_from);

/// `request_hash`: see above.
RankCommand train_command(const TrainRequest& request, const RunFolder& folder, const StartTerms& terms,
                          const std::string& request_hash);

}  // namespace larmor::app
