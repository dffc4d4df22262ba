#include "larmor/draw/ticks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "larmor/base/text.h"

namespace larmor::drawing {
namespace {

// Shares of a step by which a place may miss a tick and still be one.
constexpr double slack = 1e-6;

/// `factor` times ten to the power of `exponent`.
struct RoundStep {
  int64_t factor;
  int exponent;

  /// As exactly as the number's type allows.
  double times(int64_t count) const {
    return std::strtod(text(count * factor, "e", exponent).c_str(), nullptr);
  }
};

RoundStep round_step(const Interval& interval, int about) {
  const double wanted = (interval.high - interval.low) / std::max(about, 1);
  const int exponent = static_cast<int>(std::floor(std::log10(wanted)));
  for (const int64_t factor : {1, 2, 5}) {
    const RoundStep step{.factor = factor, .exponent = exponent};
    if (step.times(1) >= wanted * (1 - slack)) return step;
  }
  return {.factor = 1, .exponent = exponent + 1};
}

std::string numeral(const RoundStep& step, int64_t count, double largest) {
  constexpr int most_decimals = 4;
  constexpr double too_long = 1e6;
  const double value = step.times(count);
  if (count == 0) return "0";
  if (-step.exponent > most_decimals || largest >= too_long) return text(value);
  return fixed(value, std::max(0, -step.exponent));
}

}  // namespace

Interval widened(const Interval& interval) {
  constexpr double narrowest_share = 1e-9, narrowest = 1e-150;
  const double size = std::max(std::abs(interval.low), std::abs(interval.high));
  if (interval.high - interval.low > std::max(narrowest_share * size, narrowest)) return interval;
  const double margin = size > narrowest ? size / 10 : 1;
  return {.low = std::min(interval.low, interval.high) - margin,
          .high = std::max(interval.low, interval.high) + margin};
}

Interval rounded_out(const Interval& interval, int about) {
  Interval ends = interval;
  // The ends of a wider interval may ask for a longer step, which has other ends.
  for (double size = 0; size != round_step(ends, about).times(1);) {
    const RoundStep step = round_step(ends, about);
    size = step.times(1);
    ends = {.low = step.times(static_cast<int64_t>(std::floor(ends.low / size + slack))),
            .high = step.times(static_cast<int64_t>(std::ceil(ends.high / size - slack)))};
  }
  return ends;
}

Ticks round_ticks(const Interval& interval, int about) {
  const RoundStep step = round_step(interval, about);
  const double size = step.times(1);
  const auto first = static_cast<int64_t>(std::ceil(interval.low / size - slack));
  const auto last = static_cast<int64_t>(std::floor(interval.high / size + slack));
  const double largest = std::max(std::abs(interval.low), std::abs(interval.high));
  Ticks ticks;
  for (int64_t count = first; count <= last; ++count) {
    ticks.places.push_back(step.times(count));
    ticks.numerals.push_back(numeral(step, count, largest));
  }
  return ticks;
}

}  // namespace larmor::drawing
