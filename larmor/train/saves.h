// A run's saves as its loop sees them: what has been saved, what is under way, how long they take, and what
// is told of them.
#pragma once

#include <cstdint>
#include <functional>

#include "larmor/base/clock.h"
#include "larmor/checkpoint/checkpoint.h"
#include "larmor/track/tracker.h"

namespace larmor {

/// Records the outcome of a save under the moment of its snapshot. Thread-safe where the tracker is.
void record_save(Tracker& tracker, const SaveOutcome& outcome);

/// One thread. Borrows the writer and the clock.
class Saves {
 public:
  /// `saved_step`: what the run goes on from, which need not be saved again; -1: nothing.
  Saves(CheckpointWriter& writer, const Clock& clock, int64_t saved_step)
      : writer_(writer), clock_(clock), saved_step_(saved_step) {}

  /// Saves what `take` gives for the step, unless that step is saved or being saved already. After the `last`
  /// one none is in flight. Throws what CheckpointWriter does. Collective.
  void save(int64_t step, bool last, const std::function<Snapshot()>& take);
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
  int64_t saved_step_;
  double began_ = 0;    // steady seconds, the newest save
  double longest_ = 0;  // seconds, of this start
};

}  // namespace larmor
