// Whether a group that ended is started again, when, and with what: the same work, smaller micro-batches or
// fewer ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "larmor/launch/group_ending.h"
#include "larmor/plan/plan.h"

namespace larmor {

struct RestartLimits {
  int64_t most_restarts = 0;
  int64_t least_ranks = 0;         // 0: the next start has as many ranks as the last one
  bool asks_for_progress = false;  // a group that has committed nothing is not started again
};

/// What the policy has to know beside how the group ended.
struct GroupFacts {
  const Plan& plan;             // that the group ran by
  int64_t committed_step = -1;  // of the newest checkpoint by now; -1 without one
  int64_t agents_before = 1;    // that started the group
  int64_t agents_left = 1;
  /// The GPUs of the plan's ranks that are still there, as they are numbered by now, in the order of the
  /// ranks. Nothing where nobody has looked.
  std::optional<std::vector<int>> devices_left = {};
};

/// What comes after the end of a group.
struct NextStart {
  bool again = false;
  double wait_seconds = 0;
  std::optional<Plan> smaller_micro_batches = {};  // the plan to go on by; such a start is not counted
  std::string ranks = {};                          // the next start's value of parallel.ranks; "" as before
  GroupEnding ending = {};                         // when not again: what the run ends with
};

/// Pure but for what it remembers of earlier failures.
class RestartPolicy {
 public:
  /// `committed_step`: of the newest checkpoint, -1 without one.
  RestartPolicy(RestartLimits limits, int64_t committed_step)
      : limits_(limits), committed_before_(committed_step) {}

  /// - A group that ran out of memory goes on with smaller micro-batches while there are any.
  /// - A failure that goes away with another start is worth one while restarts are left; three in a row that
  ///   commit nothing end as no_progress. The next start waits a second after two of them, and otherwise not
  ///   at all. With asks_for_progress the first that commits nothing is the end, which it has brought about.
  /// - Hosts and GPUs that are lost, and a rank that failed twice in a row, are left out; where fewer ranks
  ///   remain than are allowed, the run ends. With least_ranks 0 such a rank is tried again.
  NextStart decide(const GroupEnding& ending, const GroupFacts& facts);
  /// The next start goes on from an earlier step than the newest that was committed, which was damaged: what
  /// it commits from there on is progress.
  void go_back_to(int64_t committed_step);
  int64_t restarts() const { return restarts_; }

 private:
  /// Whether the same rank brought about this end and the one before, with nothing committed between.
  bool remember(const GroupEnding& ending, int64_t committed_step);

  RestartLimits limits_;
  int64_t restarts_ = 0;
  int64_t starts_without_progress_ = 0;
  int64_t committed_before_;
  std::optional<int> failed_before_;
};

}  // namespace larmor
