#include "larmor/train/saves.h"

#include <algorithm>

#include "larmor/base/text.h"
#include "larmor/train/time_left.h"

namespace larmor {

void record_save(Tracker& tracker, const SaveOutcome& outcome) {
  const Moment when{.step = outcome.step, .epoch = outcome.epoch, .examples = outcome.examples};
  if (outcome.committed) {
    tracker.event(
        when, "checkpoint",
        {{"perf/save_seconds", outcome.seconds}, {"perf/save_stall_seconds", outcome.staged_seconds}},
        outcome.is_best ? "best so far" : "");
  } else {
    tracker.event(when, "warning", {},
                  text("the checkpoint was not saved: ", outcome.warning, "; it is of step ", outcome.step,
                       ", and tried again at the next interval"));
  }
}

void Saves::save(int64_t step, bool last, const std::function<Snapshot()>& take) {
  if (saved_step_ != step) {
    began_ = clock_.steady_seconds();
    writer_.save(take(), last);
    saved_step_ = step;
    note(clock_.steady_seconds() - began_);
  }
  if (last) writer_.finish();
  for (const auto& outcome : writer_.take_outcomes()) note(outcome.seconds + outcome.staged_seconds);
}

void Saves::settle() {
  writer_.settle();
  for (const auto& outcome : writer_.take_outcomes()) note(outcome.seconds + outcome.staged_seconds);
}

void Saves::note(double seconds) { longest_ = std::max(longest_, seconds); }

double Saves::seconds_outstanding(int64_t bytes) const {
  const double one = seconds_to_save(longest_, bytes);
  if (!writer_.is_saving()) return one;
  const double elapsed = clock_.steady_seconds() - began_;
  return one + std::max(one - elapsed, elapsed / 2);
}

}  // namespace larmor
