// Names ranks that hold the others up by being slow, and the phase in which they are.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "larmor/watch/rank_status.h"

namespace larmor {

struct SlowRank {
  int rank = 0;
  double speed = 1;  // of the median's, over the last windows
  Phase phase = Phase::computing;
  std::string what;  // one sentence
};

/// Ranks of a group do the same steps; what differs is how long each works for one, without its waiting for
/// the others. Time in validation is left out: ranks have different numbers of cases there. One thread.
class SlowWatch {
 public:
  /// `ranks` in order of rank, `now` in seconds that only grow. A window ends when it holds 20 s and 10
  /// steps. A rank below 0.75 of the median speed in three windows in a row is named once, and again only
  /// after a window in which it was not; what costs less than a twentieth of the time does not count. Two
  /// ranks are compared with the faster one.
  std::vector<SlowRank> look(const std::vector<RankStatus>& ranks, double now);

 private:
  struct Window {
    double began = 0;
    std::vector<RankStatus> ranks;  // as they were then
  };
  struct Trouble {
    int windows = 0;  // in a row
    bool named = false;
    double own = 0, median = 0;  // seconds a step, summed over those windows
    PerPhase excess{};           // over the median's seconds a step in each phase
  };
  std::vector<SlowRank> judge(const std::vector<RankStatus>& ranks, double seconds);

  std::optional<Window> window_;
  std::vector<Trouble> troubles_;
};

}  // namespace larmor
