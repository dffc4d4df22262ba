// From one process to many: starts this program once a rank, watches, ends all together.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/plan/plan.h"

namespace larmor {

struct LaunchOptions {
  std::filesystem::path program;       // own_program() by default
  std::vector<std::string> arguments;  // of every rank
  std::filesystem::path log_folder;    // rank-N.log, launcher.log
  int64_t generation = 0;
  double grace_seconds = 20;  // from the end of the first rank to the killing of the others
  bool console = true;        // rank 0 may speak to our stdout and stderr: it finds them as the
                              // descriptors LARMOR_CONSOLE_OUT and LARMOR_CONSOLE_ERR
};

/// How the group ended: what the program exits with, and the sentence that says why.
struct GroupEnding {
  Exit exit = Exit::done;
  int raw_status = 0;      // exit status to pass on: exit, or 128 + signal when that ended the ranks
  int first_rank = -1;     // that failed first; -1 when none did
  std::string message;     // rank, signal or status, phase, step
  std::string last_lines;  // of that rank's log
};

/// Blocks until every rank has ended. Binds ranks to their cores, sets OMP_NUM_THREADS and MKL_NUM_THREADS,
/// hands rank 0 a listening socket on loopback for the store (LARMOR_STORE_FD; all variables: rank.h),
/// forwards INT, TERM and USR1 (a second one ends the group at once). The stdout and stderr of rank N go to
/// log_folder/rank-N.log. The first rank that fails decides: the others are asked to end, and killed after
/// the grace. Ranks die when this process does, even by SIGKILL. Call from a thread that outlives the ranks.
GroupEnding run_ranks(const Plan& plan, const LaunchOptions& options);

}  // namespace larmor
