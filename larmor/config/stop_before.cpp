#include "larmor/config/stop_before.h"

#include <charconv>
#include <chrono>
#include <optional>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/config/units.h"

namespace larmor {
namespace {

[[noreturn]] void refuse_stop(std::string_view written) {
  fail(Exit::usage, text("\"", written, "\" is no time to stop before"),
       "say auto, never, a time in UTC such as 2026-11-21T23:00:00Z, or a time from the start such as 12h");
}

/// So many digits at `place`; nothing where something else stands there.
std::optional<int> digits_at(std::string_view written, size_t place, size_t count) {
  if (place + count > written.size()) return std::nullopt;
  int number = 0;
  const char* begin = written.data() + place;
  const auto [end, problem] = std::from_chars(begin, begin + count, number);
  if (problem != std::errc() || end != begin + count || *begin == '-') return std::nullopt;
  return number;
}

/// Seconds since the epoch of "YYYY-MM-DDTHH:MM[:SS]Z".
std::optional<double> utc_seconds(std::string_view written) {
  const bool has_seconds = written.size() == 20;
  if (!has_seconds && written.size() != 17) return std::nullopt;
  if (written[4] != '-' || written[7] != '-' || written[10] != 'T' || written[13] != ':' ||
      written.back() != 'Z' || (has_seconds && written[16] != ':')) {
    return std::nullopt;
  }
  const auto year = digits_at(written, 0, 4), month = digits_at(written, 5, 2),
             day = digits_at(written, 8, 2), hour = digits_at(written, 11, 2),
             minute = digits_at(written, 14, 2), second = has_seconds ? digits_at(written, 17, 2) : 0;
  if (!year || !month || !day || !hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 59)
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return days * 86400.0 + *hour * 3600.0 + *minute * 60.0 + *second;
}

}  // namespace

StopBefore parse_stop_before(std::string_view written) {
  const std::string_view word = trim(written);
  if (word == "auto") return {};
  if (word == "never") return {.kind = StopBefore::Kind::never};
  if (const auto moment = utc_seconds(word)) return {.kind = StopBefore::Kind::moment, .seconds = *moment};
  Length length;
  try {
    length = parse_length(word);
  } catch (const Error&) {
    refuse_stop(written);
  }
  if (length.unit != Length::Unit::seconds || length.amount <= 0) refuse_stop(written);
  return {.kind = StopBefore::Kind::length, .seconds = length.amount};
}

}  // namespace larmor
