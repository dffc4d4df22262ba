#include "larmor/track/work_report.h"

#include <algorithm>

#include <unistd.h>

#include "larmor/base/text.h"

namespace larmor {
namespace {

constexpr double seconds_between_lines = 10, seconds_between_redraws = 0.1;

}  // namespace

std::string describe(const WorkProgress& progress, double seconds) {
  std::string words = text(progress.what, " ", progress.done, " of ", progress.all);
  if (progress.rows > 0) words += text(", ", progress.rows, " rows");
  if (progress.part > 0) words += text(", ", fixed(100 * progress.part, 0), " % of a pass over the next");
  const int64_t worked_on = progress.done - progress.found_done;
  if (worked_on <= 0) return words;
  const double least_seconds = std::max(seconds, 1e-3);
  const double rate = static_cast<double>(worked_on) / least_seconds;
  constexpr double slow = 0.01;  // below it a rate says less than what is left
  if (rate >= slow) words += text(", ", fixed(rate, rate < 10 ? 2 : 0), " ", progress.unit, "/s");
  if (progress.bytes > 0) {
    const double bytes_a_second = static_cast<double>(progress.bytes) / least_seconds;
    words += text(", ", human_bytes(static_cast<uint64_t>(bytes_a_second)), "/s");
  }
  return words + text(", ETA ", human_seconds(static_cast<double>(progress.all - progress.done) / rate));
}

WorkReport::WorkReport(int descriptor, double patience, const Clock& clock)
    : clock_(clock),
      rewrites_(isatty(descriptor) != 0),
      patience_(patience),
      own_terminal_(std::in_place, descriptor, /*color=*/false),
      terminal_(*own_terminal_),
      began_(clock.steady_seconds()),
      next_(patience) {}

WorkReport::WorkReport(Terminal& terminal, bool rewrites, double patience, const Clock& clock)
    : clock_(clock),
      rewrites_(rewrites),
      patience_(patience),
      terminal_(terminal),
      began_(clock.steady_seconds()),
      next_(patience) {}

void WorkReport::show(const WorkProgress& progress) {
  const double now = clock_.steady_seconds();
  const bool is_nothing_done = progress.done == 0 && !(progress.part > 0);
  if (what_ != progress.what || (is_nothing_done && last_done_ > 0)) {
    if (!what_.empty()) {
      if (what_ != progress.what) terminal_.end_standing_line();
      began_ = now;
      next_ = patience_;
    }
    what_ = progress.what;
  }
  last_done_ = progress.done;
  if (is_nothing_done || !is_due(now - began_)) return;
  const std::string words = describe(progress, now - began_);
  if (rewrites_) {
    terminal_.standing_line(words.substr(0, static_cast<size_t>(std::max(terminal_.width() - 1, 1))));
  } else {
    terminal_.line(words);
  }
}

bool WorkReport::is_due(double seconds) {
  if (seconds < next_) return false;
  next_ = seconds + (rewrites_ ? seconds_between_redraws : seconds_between_lines);
  return true;
}

}  // namespace larmor
