// What the scheduler or an outer launcher says of the job around us: which one it is, how often it was
// started, when it ends, and which of its nodes this is.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "larmor/launch/rank.h"

namespace larmor {

struct Job {
  /// The same after a requeue or a restart, another for another job: "slurm 1234.0" (job and step),
  /// "slurm 1234_7.0" for a task of an array, without the step in a batch script;
  /// "torchrun RUN_ID MASTER_ADDR:MASTER_PORT"; empty outside of both. Inside SLURM torchrun adds nothing to
  /// it: a requeue may bring other hosts.
  std::string id;
  /// How often the job has been started again, by the scheduler and by torchrun together. At 0 the id may be
  /// that of an earlier run too: one allocation can start many.
  int64_t restarts = 0;
  std::optional<int64_t> ends_at;  // seconds since the epoch; nothing when it is not known or has no end
};

/// Reads the environment, and asks squeue for the end where that does not tell it: no longer than that,
/// and whatever goes wrong there leaves the end unknown. Throws Error (usage) for malformed counters.
Job find_job(const Environment& environment, double patience_seconds = 5);

/// Which of the jobs (`Job::id`) SLURM has in its queue and will start, for the first time or again: squeue
/// is asked once, and no longer than that. None where it is not there, or does not answer.
std::set<std::string> waiting_jobs(const std::set<std::string>& ids, const Environment& environment,
                                   double patience_seconds = 5);

struct NodePlace {
  int64_t nodes = 1;
  int64_t node = 0;  // of this process
  std::string master_address;
  int master_port = 0;
};

/// Where our own launcher stands that srun started once on each node (--ntasks-per-node=1): the step's hosts,
/// the first of them being the master, and the port as for ranks of srun (rank.h); MASTER_ADDR and
/// MASTER_PORT go before both. Nothing outside of a step. Throws Error (usage) when a node has more than one
/// task.
std::optional<NodePlace> find_nodes(const Environment& environment);

}  // namespace larmor
