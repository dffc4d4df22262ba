// The tasks that one srun started, as the variables of its step tell.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "larmor/launch/environment.h"

namespace larmor {

struct SlurmStep {
  int64_t index = 0, count = 1;  // of this task, of all
  int64_t local_index = 0;       // on this node
  int64_t node = 0;
  std::vector<int64_t> tasks_per_node;
  std::vector<std::string> hosts;  // of the nodes
  std::string job;                 // "1234.0": job and step
};

/// How many tasks the step of this process has. Nothing outside of srun: a batch script has SLURM_PROCID=0
/// and SLURM_NTASKS too, and is no task.
std::optional<int64_t> slurm_task_count(const Environment& environment);
/// Requires: slurm_task_count(). Throws Error (usage) for variables that are missing, malformed, or do not go
/// together.
SlurmStep read_slurm_step(const Environment& environment);

/// The step's first host and a port made of job and step; MASTER_ADDR and MASTER_PORT go before both. Throws
/// Error (usage) where they are malformed, or name loopback in a step of several nodes.
HostAndPort find_master(const Environment& environment, const SlurmStep& step);

}  // namespace larmor
