// One start of the ranks: what they are given, and the call that starts, watches and ends them on this host.
// Several hosts and several starts: fleet.h.
#pragma once

#include <cstdint>
#include <string>

#include "larmor/launch/group_ending.h"
#include "larmor/launch/hosts/host.h"
#include "larmor/plan/plan.h"
#include "larmor/watch/hang_watch.h"

namespace larmor {

struct LaunchOptions : RankCommand {
  int64_t generation = 0;
  double grace_seconds = 20;  // from the end of the first rank to the killing of the others
  /// Whether those that start are asked to end, too, when another has failed. Ranks of training end at once
  /// then, and may be about to say why the others could not go on.
  bool asks_starting_ranks = true;
  bool console = true;  // rank 0 may speak to our stdout and stderr: it finds them as the
                        // descriptors LARMOR_CONSOLE_OUT and LARMOR_CONSOLE_ERR
  HangLimits hang = {};
  bool keeps_logs = true;  // otherwise nothing names the folder, which will be gone
  StartTerms terms = {};   // for agents on other hosts, which make the commands of their ranks of them
  /// The address of the ranks' store, where the agent keeps it: rank 0 hosts it otherwise, on a socket it
  /// inherits.
  std::string master_address = {};
  int master_port = 0;
};

/// Blocks until every rank has ended. Binds ranks to their cores, sets OMP_NUM_THREADS and MKL_NUM_THREADS,
/// hands rank 0 a listening socket on loopback for the store (LARMOR_STORE_FD; all variables: rank.h) and all
/// ranks its key, which was drawn for this start,
/// forwards INT, TERM, HUP and USR1 (a second one ends the group at once). The stdout and stderr of rank N go
/// to log_folder/rank-N.log. The first rank that fails decides: the others are asked to end, and killed after
/// the grace; so does a rank that hangs. Ranks die when this process does, even by SIGKILL. Call from a
/// thread that outlives the ranks.
GroupEnding run_ranks(const Plan& plan, const LaunchOptions& options);

}  // namespace larmor
