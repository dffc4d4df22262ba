// Tells ranks that hang from ranks that wait, and names the one that all others wait for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "larmor/watch/rank_status.h"

namespace larmor {

/// How long a rank may be quiet, in seconds: `fixed`, or `factor` times the longest that any rank was quiet
/// in that phase, and at least `floor`; while starting, `start`.
struct HangLimits {
  double floor = 300;
  double factor = 5;
  double start = 600;
  std::optional<double> fixed;  // also while starting, but then not below a minute
  bool never = false;
};

/// The limits that parallel.hang_limit sets: "auto", "never" or a time. Throws Error (usage) on anything
/// else.
HangLimits parse_hang_limit(const std::string& words);

struct Hang {
  int rank = -1;     // the first that differs; -1 when all wait for one another in the same collective
  std::string what;  // one sentence: who, how long, where, and who waits for it
  double seconds = 0;
  double limit = 0;
};

/// "rank 1 hangs: no heartbeat for 12 s (limit 10 s)", of whatever group it is a rank.
std::string silence_text(int rank, double seconds, double limit);

/// Keeps nothing between looks.
class HangWatch {
 public:
  explicit HangWatch(const HangLimits& limits) : limits_(limits) {}

  /// `ranks` in order of rank. A rank that is blocked in a collective does not hang while another goes on;
  /// one that has finished never does. When all are blocked for longer than the limit, the culprit is the
  /// first whose collectives differ from those of most.
  std::optional<Hang> look(const std::vector<RankStatus>& ranks) const;

 private:
  double limit_of(Phase phase, const std::vector<RankStatus>& ranks) const;
  double wait_limit(const std::vector<RankStatus>& ranks) const;
  bool is_silent(const RankStatus& status, const std::vector<RankStatus>& ranks) const;
  /// A silent rank may wait for one that goes on without being blocked by it: then it has begun what that one
  /// has not.
  std::optional<Hang> silent_rank(const std::vector<RankStatus>& ranks) const;
  /// Where waiting for a collective does not block its caller, as on GPUs, all fall silent because of one.
  std::optional<Hang> unlike_the_others(const std::vector<RankStatus>& ranks) const;
  std::optional<Hang> deadlock(const std::vector<RankStatus>& ranks) const;

  HangLimits limits_;
};

/// The report for the file that a hang leaves: what each rank does, and its last collectives side by side.
std::string collectives_report(const std::vector<RankStatus>& ranks);

}  // namespace larmor
