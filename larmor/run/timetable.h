// When things are due: lengths in epochs, steps and seconds turned into yes or no after each step.
#pragma once

#include <cstdint>

#include "larmor/config/run_config.h"
#include "larmor/optim/schedule.h"
#include "larmor/track/tracker.h"

namespace larmor {

/// How far a run has come.
struct Progress {
  int64_t step = 0;            // global steps done
  int64_t examples = 0;        // consumed by all ranks together
  double elapsed_seconds = 0;  // of training, over all restarts; rank 0's clock, the same on all ranks
};

class Timetable {
 public:
  /// `epoch_examples`: what an epoch shows, ExampleOrder::examples(); `global_batch`: examples a step.
  Timetable(const TrainConfig& train, int64_t epoch_examples, int64_t global_batch);

  double epoch(const Progress& progress) const;
  int64_t whole_epochs(const Progress& progress) const;
  Moment moment(const Progress& progress) const;

  /// Whether a multiple of `interval` lies in (before, after]. A zero interval is never due.
  bool due(const Length& interval, const Progress& before, const Progress& after) const;
  bool finished(const Progress& progress) const;
  /// Steps of the whole run; 0 when its length is a time.
  int64_t total_steps() const { return total_steps_; }
  /// A schedule's lengths in steps; `total` is 0 when the run's length is a time and optim.schedule.steps is
  /// not set. Throws Error (usage) when its warm-up is a time.
  ScheduleSteps schedule_steps(const ScheduleConfig& schedule) const;
  /// The part that is over of a run whose length is a time; 0 of another.
  double share(const Progress& progress) const;
  /// The part that is over of any run, from 0 on.
  double part_over(const Progress& progress) const;
  /// Whether any decision depends on the clock, so that ranks have to agree on the time.
  bool needs_time(const CheckpointConfig& checkpoint, const TrackConfig& track) const;

 private:
  int64_t in_steps(const Length& length) const;  // epochs and steps only

  Length length_, validate_every_;
  int64_t epoch_examples_, global_batch_;
  int64_t total_steps_ = 0;
};

}  // namespace larmor
