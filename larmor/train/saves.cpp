#include "larmor/train/saves.h"

#include <algorithm>

#include <c10/util/Exception.h>

#include "larmor/base/error.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/launch/rank_lost.h"
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

void Saves::save(int64_t step, std::optional<double> metric, bool last) {
  if (saved_step_ != step) {
    began_ = clock_.steady_seconds();
    auto snapshot = take_();
    snapshot.metric = metric;
    writer_.save(snapshot, last);
    saved_step_ = step;
    note(clock_.steady_seconds() - began_);
  }
  if (last) writer_.finish();
  for (const auto& outcome : writer_.take_outcomes()) note(outcome.seconds + outcome.staged_seconds);
}

void Saves::save_before_the_end(int64_t step, const std::exception_ptr& failure) {
  if (is_rank_lost(failure)) return;
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    if (error.exit() == Exit::environment || error.exit() == Exit::rank_lost) return;
  } catch (const c10::AcceleratorError&) {  // whatever is asked of the device from now on fails, too
    return;
  } catch (...) {  // of libtorch, say
  }
  try {
    save(step, std::nullopt, /*last=*/true);
  } catch (const std::exception& error) {
    log::warning(text("step ", step, " is not saved: ", error.what()));
  }
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
