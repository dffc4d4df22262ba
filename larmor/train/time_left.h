// How long a run may still train before it has to have stopped with a checkpoint: before the scheduler ends
// its job, or by the time that a person gave.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "larmor/base/clock.h"
#include "larmor/config/stop_before.h"

namespace larmor {

/// Reads the wall clock once, when it is made; afterwards only steady seconds count.
class TimeLeft {
 public:
  TimeLeft() = default;  // for ever
  /// `job_ends_at` is what the scheduler says, in seconds since the epoch; `started_at` is where a length
  /// counts from, now where nothing is given. Of a stop_before of its own and the end of the job the earlier
  /// one counts.
  TimeLeft(const StopBefore& stop_before, std::optional<double> job_ends_at, std::optional<double> started_at,
           const Clock& clock);

  /// Whether the step that is about to begin has to be the last. The answer leaves time for it and for the
  /// next one, whose beginning is the next time to ask; for `validation`, where one is due after either (0
  /// otherwise); for the last save, see seconds_to_save(); and for a margin.
  bool must_stop(double now_steady, double longest_step, double save, double validation) const;
  /// What is left before a last save that takes so long has to begin; infinite where there is no end.
  double seconds_before_save(double now_steady, double save) const;

  /// "stopped before 2026-11-21T23:00:00Z"; "" where there is no end.
  const std::string& words() const { return words_; }

 private:
  std::optional<double> ends_;  // in steady seconds
  std::string words_;
};

/// What to allow for a save: half as much again as the longest so far, at least 10 s; where none has been
/// seen (0), so many bytes at 50 MB/s.
double seconds_to_save(double longest_so_far, int64_t bytes);

/// Throws Error (usage) when train.stop_before names a time that is over already. Before a run starts.
void refuse_past_stop(const std::string& stop_before, const Clock& clock);

}  // namespace larmor
