#include "larmor/track/thinned_curve.h"

namespace larmor {

void ThinnedCurve::add(double step, double value) {
  if (step <= last_step_)
    while (!sums_.empty() && sums_.back().first_step >= step) sums_.pop_back();
  last_step_ = step;
  if (sums_.empty() || sums_.back().count >= values_a_point_) {
    if (sums_.size() == most) halve();
    sums_.push_back({.first_step = step});
  }
  Sum& last = sums_.back();
  last.steps += step;
  last.values += value;
  ++last.count;
}

void ThinnedCurve::halve() {
  for (std::size_t i = 0; i + 1 < sums_.size(); i += 2) {
    const Sum &left = sums_[i], &right = sums_[i + 1];
    sums_[i / 2] = {.first_step = left.first_step,
                    .steps = left.steps + right.steps,
                    .values = left.values + right.values,
                    .count = left.count + right.count};
  }
  sums_.resize(sums_.size() / 2);
  values_a_point_ *= 2;
}

std::vector<ThinnedCurve::Point> ThinnedCurve::points() const {
  std::vector<Point> points;
  for (const Sum& sum : sums_) {
    const auto count = static_cast<double>(sum.count);
    points.emplace_back(sum.steps / count, sum.values / count);
  }
  return points;
}

}  // namespace larmor
