// A curve of any number of values in a bounded number of points.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace larmor {

/// Each point is the mean of equally many values in a row; the last one may be of fewer. A step that does not
/// come after the last one takes back the points that begin with it or later: a run that goes on from a
/// checkpoint does some steps again.
class ThinnedCurve {
 public:
  using Point = std::pair<double, double>;  // step, value

  void add(double step, double value);
  bool is_empty() const { return sums_.empty(); }
  /// Ascending by step; at most a thousand.
  std::vector<Point> points() const;

 private:
  struct Sum {
    double first_step = 0, steps = 0, values = 0;
    std::size_t count = 0;
  };
  void halve();

  static constexpr std::size_t most = 1000;
  std::vector<Sum> sums_;
  std::size_t values_a_point_ = 1;
  double last_step_ = -1;
};

}  // namespace larmor
