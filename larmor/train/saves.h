// A run's saves as its loop sees them: what has been saved, what is under way, how long they take, and what
// is told of them.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>

#include "larmor/base/clock.h"
#include "larmor/checkpoint/checkpoint.h"
#include "larmor/track/tracker.h"

namespace larmor {

/// Records the outcome of a save under the moment of its snapshot. Thread-safe where the tracker is.
void record_save(Tracker& tracker, const SaveOutcome& outcome);

/// One thread. Borrows the writer and the clock.
class Saves {
 public:
  /// `take` gives what a save holds, but for the metric. `saved_step`: what the run goes on from, which need
  /// not be saved again; -1: nothing.
  Saves(CheckpointWriter& writer, const Clock& clock, std::function<Snapshot()> take, int64_t saved_step)
      : writer_(writer), clock_(clock), take_(std::move(take)), saved_step_(saved_step) {}

  /// Saves what training has come to with the step, unless that step is saved or being saved already. After
  /// the `last` one none is in flight. Throws what CheckpointWriter does. Collective.
  void save(int64_t step, std::optional<double> metric, bool last);
  /// What has been trained, before a validation that has failed ends the run: such failures are of all ranks
  /// alike. Nothing where the ranks have lost each other, or the device or the disk is at fault. A save that
  /// fails is a warning in the log. Collective.
  void save_before_the_end(int64_t step, const std::exception_ptr& failure);
  /// Whether a save has ended, of which settle() has not been told: what this rank says to the others.
  bool has_ended() const { return writer_.has_ended(); }
  /// Takes the outcome of a save that has ended on some rank. Collective.
  void settle();

  /// What to allow for what is outstanding when training ends now, see seconds_to_save(): one save of so many
  /// bytes, and before it the rest of the one that is under way, if any.
  double seconds_outstanding(int64_t bytes) const;

 private:
  void note(double seconds);

  CheckpointWriter& writer_;
  const Clock& clock_;
  std::function<Snapshot()> take_;
  int64_t saved_step_;
  double began_ = 0;    // steady seconds, the newest save
  double longest_ = 0;  // seconds, of this start
};

}  // namespace larmor
