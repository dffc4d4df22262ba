// How a run stands: whether it is trained now, how its last start has ended if it is not, and how far it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "larmor/run/run_folder.h"

namespace larmor {

struct RunStanding {
  /// "training", "stopped" (its last start said so), "interrupted" (it did not), "failed", "done", or
  /// "removed in part".
  std::string state;
  std::string holder;                 // of a run that is trained: "process 12 on host"; of others ""
  std::string job;                    // Job::id of its last start
  std::optional<int64_t> step;        // the last one that it has logged
  std::optional<int64_t> steps;       // of the whole run; nothing where its length is a time
  std::optional<double> last_logged;  // when it has logged anything, seconds since the epoch
};

/// A run is trained while a start holds its lock, or where that start is on another host, whose locks need
/// not be seen here, while it has a heartbeat. Reads the end of the run's log; what cannot be read says
/// nothing.
RunStanding standing_of(const RunFolder& folder);

}  // namespace larmor
