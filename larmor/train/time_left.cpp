#include "larmor/train/time_left.h"

#include <algorithm>
#include <limits>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

constexpr double margin_seconds = 5;
constexpr double least_save_seconds = 10;
constexpr double save_allowance = 1.5;
constexpr double bytes_per_second = 50e6;

/// Seconds since the epoch at which the config itself wants the run to have stopped.
std::optional<double> moment_of(const StopBefore& stop, double started_at) {
  if (stop.kind == StopBefore::Kind::moment) return stop.seconds;
  if (stop.kind == StopBefore::Kind::length) return started_at + stop.seconds;
  return std::nullopt;
}

}  // namespace

TimeLeft::TimeLeft(const StopBefore& stop_before, std::optional<double> job_ends_at,
                   std::optional<double> started_at, const Clock& clock) {
  if (stop_before.kind == StopBefore::Kind::never) return;
  const double now = clock.wall_seconds();
  const auto own = moment_of(stop_before, started_at.value_or(now));
  const bool is_own = own && (!job_ends_at || *own < *job_ends_at);
  const auto end = is_own ? own : job_ends_at;
  if (!end) return;
  ends_ = clock.steady_seconds() + (*end - now);
  words_ = text(is_own ? "stopped before " : "stopped before the end of the job at ", utc_text(*end));
}

bool TimeLeft::must_stop(double now_steady, double longest_step, double save, double validation) const {
  return seconds_before_save(now_steady, save) < 2 * longest_step + validation;
}

double TimeLeft::seconds_before_save(double now_steady, double save) const {
  if (!ends_) return std::numeric_limits<double>::infinity();
  return *ends_ - now_steady - save - margin_seconds;
}

double seconds_to_save(double longest_so_far, int64_t bytes) {
  const double expected =
      longest_so_far > 0 ? save_allowance * longest_so_far : static_cast<double>(bytes) / bytes_per_second;
  return std::max(least_save_seconds, expected);
}

void refuse_past_stop(const std::string& stop_before, const Clock& clock) {
  const auto stop = parse_stop_before(stop_before);
  if (stop.kind != StopBefore::Kind::moment || stop.seconds > clock.wall_seconds()) return;
  fail(Exit::usage,
       text("train.stop_before is ", utc_text(stop.seconds), ", and it is ", utc_text(clock.wall_seconds()),
            " already"),
       "give another time, or train.stop_before=never");
}

}  // namespace larmor
