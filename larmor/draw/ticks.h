// Round numbers along an axis.
#pragma once

#include <string>
#include <vector>

namespace larmor::drawing {

struct Ticks {
  std::vector<double> places;         // ascending
  std::vector<std::string> numerals;  // one for each
};

struct Interval {
  double low = 0, high = 1;
};

/// The same, or a wider one where `interval` is too narrow for an axis to show.
Interval widened(const Interval& interval);

/// An interval from the last tick below to the first above, where the interval does not start or end with
/// one. `about`: how many steps the axis has room for. Requires: an interval as `widened` returns it.
Interval rounded_out(const Interval& interval, int about);

/// The multiples of 1, 2 or 5 times a power of ten that lie inside; at most about + 1 of them, in most cases
/// half as many at least. Requires: an interval as `widened` returns it.
Ticks round_ticks(const Interval& interval, int about);

}  // namespace larmor::drawing
