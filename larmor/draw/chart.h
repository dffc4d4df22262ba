// Curves over two axes as a picture, for reports that have to be read without another program.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "larmor/base/image.h"

namespace larmor {

struct ChartSeries {
  enum class Way {
    straight,  // from point to point
    steps,     // a value holds until the next x
    none,
  };
  enum class Mark {
    none,
    dot,
    tick,  // a short line upright, as for patients who left a study
  };

  std::string name = {};               // in the legend; without one it is not there
  std::vector<double> x = {}, y = {};  // of equal lengths, in the order in which they are joined
  Way way = Way::straight;
  Mark mark = Mark::none;
  /// A thin grey line of dashes to compare with.
  bool reference = false;
  /// Words beside the points, one each; without any there are none.
  std::vector<std::string> labels = {};
  /// A place in the palette; otherwise the next one.
  std::optional<int> colour = {};
};

struct ChartAxis {
  std::string title = {};
  /// The ends; without them the axis holds all values and ends at round numbers.
  std::optional<double> low = {}, high = {};
};

struct Chart {
  std::string title = {};
  ChartAxis x = {}, y = {};
  std::vector<ChartSeries> series = {};
  int width = 960, height = 720;  // pixels; letters and lines grow with them
};

/// RGB on white. A point whose x or y is missing, infinite or beyond 1e150 is left out and leaves a gap; one
/// that has no neighbour is drawn as a dot. What lies outside of given ends is cut off. The colours are seven
/// that colour-blind people tell apart (Okabe and Ito 2008); after them they come again. Titles and names are
/// UTF-8, in letters of a font that the program holds; where there is not room enough, they become smaller.
/// The legend stands in the corner in which it hides least, a label above its point or, where another one or
/// the edge is in the way, below or beside it. Requires: at least 120 x 90 pixels, x and y (and labels) of
/// equal lengths, palette places from 0.
Image draw_chart(const Chart& chart);

}  // namespace larmor
