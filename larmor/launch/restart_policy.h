// Whether a group that failed is started again, and when.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "larmor/launch/group_ending.h"

namespace larmor {

struct RestartVerdict {
  bool again = false;
  double wait_seconds = 0;
  bool same_rank_again = false;  // the last start failed by it, too, and committed nothing since
  GroupEnding ending;            // when not again: what the run ends with
};

/// Pure but for what it remembers of earlier failures.
class RestartPolicy {
 public:
  /// `committed_step`: of the newest checkpoint, -1 without one.
  RestartPolicy(int64_t most_restarts, int64_t committed_step)
      : most_restarts_(most_restarts), committed_before_(committed_step) {}

  /// `committed_step`: of the newest checkpoint by now. A failure that goes away with another start is
  /// worth one while there are restarts left; three in a row that commit nothing end as no_progress. Waits
  /// a second after two of them, and otherwise not at all.
  RestartVerdict decide(const GroupEnding& ending, int64_t committed_step);
  /// The next start goes on from an earlier step than the newest that was committed, which was damaged: what
  /// it commits from there on is progress.
  void go_back_to(int64_t committed_step);
  int64_t restarts() const { return restarts_; }

 private:
  int64_t most_restarts_;
  int64_t restarts_ = 0;
  int64_t starts_without_progress_ = 0;
  int64_t committed_before_;
  std::optional<int> failed_before_;
};

}  // namespace larmor
