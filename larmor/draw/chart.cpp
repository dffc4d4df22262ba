#include "larmor/draw/chart.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "larmor/draw/canvas.h"
#include "larmor/draw/ticks.h"

namespace larmor {
namespace {

using drawing::Box;
using drawing::Canvas;
using drawing::Colour;
using drawing::Direction;
using drawing::Interval;
using drawing::Pen;
using drawing::Point;
using drawing::Segment;
using drawing::Ticks;
using Way = ChartSeries::Way;
using Mark = ChartSeries::Mark;

// Blue, vermilion, green, purple, orange, sky blue, black; the ninth, yellow, is too pale on white.
constexpr std::array<Colour, 7> palette = {
    {{0, 114, 178}, {213, 94, 0}, {0, 158, 115}, {204, 121, 167}, {230, 159, 0}, {86, 180, 233}, {0, 0, 0}}};
// A line is sharp where its middle is a pixel's.
double sharp(double place) { return std::floor(place) + 0.5; }

constexpr Colour letters{38, 38, 38}, frame{120, 120, 120}, grid{229, 229, 229}, ground{255, 255, 255};

bool can_be_drawn(double x, double y) {
  constexpr double beyond = 1e150;
  return std::abs(x) <= beyond && std::abs(y) <= beyond;
}

/// One axis: which values it shows, and where.
struct Scale {
  Interval values;
  Ticks ticks;
  double first = 0, last = 1;  // pixels of values.low and values.high

  double place(double value) const {
    return first + (value - values.low) / (values.high - values.low) * (last - first);
  }
};

class Drawing {
 public:
  explicit Drawing(const Chart& chart)
      : chart_(chart),
        unit_(std::clamp(std::min(chart.width, chart.height) / 480.0, 0.3, 8.0)),
        canvas_(chart.width, chart.height) {
    x_ = scale_of(chart.x, &ChartSeries::x);
    y_ = scale_of(chart.y, &ChartSeries::y);
    lay_out();
  }

  Image result() {
    draw_grid();
    draw_series(canvas_);
    draw_axes();
    draw_legend();
    return canvas_.image();
  }

 private:
  Scale scale_of(const ChartAxis& axis, std::vector<double> ChartSeries::* values) const {
    Interval shown{.low = std::numeric_limits<double>::infinity(),
                   .high = -std::numeric_limits<double>::infinity()};
    for (const ChartSeries& series : chart_.series) {
      for (size_t i = 0; i < series.x.size(); ++i) {
        if (!can_be_drawn(series.x[i], series.y[i])) continue;
        shown = {.low = std::min(shown.low, (series.*values)[i]),
                 .high = std::max(shown.high, (series.*values)[i])};
      }
    }
    // Given ends, and without any value others, may leave nothing in between.
    if (shown.low > shown.high && !axis.low && !axis.high) shown = {.low = 0, .high = 1};
    if (axis.low && !(shown.high > *axis.low)) shown.high = *axis.low + 1;
    if (axis.high && !(shown.low < *axis.high)) shown.low = *axis.high - 1;
    const Interval exact =
        drawing::widened({.low = axis.low.value_or(shown.low), .high = axis.high.value_or(shown.high)});
    Interval ends = drawing::rounded_out(exact, steps);
    if (axis.low) ends.low = exact.low;
    if (axis.high) ends.high = exact.high;
    return {.values = ends, .ticks = drawing::round_ticks(ends, steps)};
  }

  double font() const { return 13 * unit_; }
  double capital() const { return drawing::capital_height * font(); }
  double text_width(std::string_view words) const { return canvas_.text_width(words, font()); }

  /// The borders of the plot, from what stands around it.
  void lay_out() {
    const double width = chart_.width, height = chart_.height, margin = 8 * unit_;
    double widest = 0;
    for (const std::string& numeral : y_.ticks.numerals) widest = std::max(widest, text_width(numeral));
    numeral_room_ = std::min(widest, 0.3 * width);
    const double left = margin + (chart_.y.title.empty() ? 0 : capital() + margin) + numeral_room_ + margin;
    const double last_numeral = x_.ticks.numerals.empty() ? 0 : text_width(x_.ticks.numerals.back());
    const double top = chart_.title.empty() ? 1.5 * margin : 3 * margin + capital();
    const double below = 2 * margin + capital() + (chart_.x.title.empty() ? 0 : capital() + margin);
    x_.first = sharp(left);
    x_.last = sharp(width - 1 - margin - std::min(last_numeral / 2, 0.2 * width));
    y_.first = sharp(height - 1 - below);
    y_.last = sharp(top);
  }

  Box plot() const { return {.left = x_.first, .top = y_.last, .right = x_.last, .bottom = y_.first}; }

  /// Centred around `middle`, no longer than `room`.
  void write_centred(std::string_view words, Point middle, double room, double size,
                     Direction direction = Direction::right) {
    const double length = canvas_.text_width(words, size);
    const double share = std::min(1.0, room / std::max(length, 1.0));
    const double back = length * share / 2;
    const Point start = direction == Direction::right ? Point{.x = middle.x - back, .y = middle.y}
                                                      : Point{.x = middle.x, .y = middle.y + back};
    canvas_.write(words, start, size * share, letters, direction);
  }

  void draw_grid() {
    for (const double value : x_.ticks.places) {
      const double x = sharp(x_.place(value));
      line({.x = x, .y = y_.first}, {.x = x, .y = y_.last}, grid);
    }
    for (const double value : y_.ticks.places) {
      const double y = sharp(y_.place(value));
      line({.x = x_.first, .y = y}, {.x = x_.last, .y = y}, grid);
    }
  }

  void line(Point from, Point to, Colour colour) {
    canvas_.stroke(std::array{Segment{.from = from, .to = to}}, {.thickness = 1, .colour = colour});
  }

  void draw_axes() {
    line({.x = x_.first, .y = y_.first}, {.x = x_.last, .y = y_.first}, frame);
    line({.x = x_.first, .y = y_.first}, {.x = x_.first, .y = y_.last}, frame);
    const double tick = std::round(4 * unit_), margin = 8 * unit_;
    const double numerals_at = std::round(y_.first + margin + capital());
    const double room = (x_.last - x_.first) / std::max(1.0, static_cast<double>(x_.ticks.places.size() - 1));
    for (size_t i = 0; i < x_.ticks.places.size(); ++i) {
      const double x = sharp(x_.place(x_.ticks.places[i]));
      line({.x = x, .y = y_.first}, {.x = x, .y = y_.first + tick}, frame);
      write_centred(x_.ticks.numerals[i], {.x = x, .y = numerals_at}, 0.9 * room, font());
    }
    for (size_t i = 0; i < y_.ticks.places.size(); ++i) {
      const double y = sharp(y_.place(y_.ticks.places[i]));
      line({.x = x_.first - tick, .y = y}, {.x = x_.first, .y = y}, frame);
      const double length = text_width(y_.ticks.numerals[i]);
      const double share = std::min(1.0, numeral_room_ / std::max(length, 1.0));
      canvas_.write(y_.ticks.numerals[i], {.x = x_.first - margin - length * share, .y = y + capital() / 2},
                    font() * share, letters);
    }
    const Point middle{.x = (x_.first + x_.last) / 2, .y = (y_.first + y_.last) / 2};
    write_centred(chart_.x.title, {.x = middle.x, .y = std::round(numerals_at + margin + capital())},
                  0.95 * chart_.width, font());
    write_centred(chart_.y.title, {.x = std::round(margin + capital()), .y = middle.y}, 0.95 * chart_.height,
                  font(), Direction::up);
    write_centred(chart_.title, {.x = middle.x, .y = std::round(1.5 * margin + capital())},
                  0.95 * chart_.width, 1.15 * font());
  }

  Colour colour_of(size_t series) const {
    if (chart_.series[series].reference) return frame;
    // References have no colour, so they take none from those that follow.
    const auto before = std::span(chart_.series).first(series);
    const auto next = static_cast<size_t>(
        std::ranges::count_if(before, [](const ChartSeries& one) { return !one.reference && !one.colour; }));
    const std::optional<int>& chosen = chart_.series[series].colour;
    return palette[(chosen ? static_cast<size_t>(*chosen) : next) % palette.size()];
  }

  void draw_series(Canvas& canvas) const {
    // References lie below the others, whatever the order.
    for (const bool reference : {true, false}) {
      for (size_t i = 0; i < chart_.series.size(); ++i) {
        if (chart_.series[i].reference == reference) draw_one(canvas, chart_.series[i], colour_of(i));
      }
    }
  }

  void draw_one(Canvas& canvas, const ChartSeries& series, Colour colour) const {
    assert(series.x.size() == series.y.size());
    const Box inside = plot();
    const double thickness = line_width(series);
    // Strokes at the very edge of the plot are whole; only what is beyond it is cut.
    const Box around{.left = inside.left - thickness,
                     .top = inside.top - thickness,
                     .right = inside.right + thickness,
                     .bottom = inside.bottom + thickness};
    std::vector<Segment> way, dots, ticks;
    const auto is_there = [&](size_t i) {
      return i < series.x.size() && can_be_drawn(series.x[i], series.y[i]);
    };
    for (size_t i = 0; i < series.x.size(); ++i) {
      if (!is_there(i)) continue;
      const Point here = place(series, i);
      const bool before = i > 0 && is_there(i - 1), after = is_there(i + 1);
      if (before) join(way, series.way, place(series, i - 1), here);
      const bool within =
          here.x >= around.left && here.x <= around.right && here.y >= around.top && here.y <= around.bottom;
      if (!within) continue;
      if (series.mark == Mark::dot || (!before && !after && series.mark == Mark::none))
        dots.push_back({here, here});
      if (series.mark == Mark::tick) ticks.push_back(tick_at(here));
    }
    canvas.stroke(way, pen_of(series, colour), around);
    for (const Segment& tick : ticks)
      canvas.stroke(std::array{tick}, {.thickness = 1.5 * unit_, .colour = colour});
    for (const Segment& dot : dots)
      canvas.stroke(std::array{dot}, {.thickness = 8 * unit_, .colour = colour});
    write_labels(canvas, series);
  }

  /// Above each point, or where there is room.
  void write_labels(Canvas& canvas, const ChartSeries& series) const {
    const double size = 0.85 * font(), away = 8 * unit_, high = drawing::capital_height * size;
    std::vector<Box> taken;
    for (std::size_t i = 0; i < std::min(series.labels.size(), series.x.size()); ++i) {
      if (!can_be_drawn(series.x[i], series.y[i])) continue;
      const Point here = place(series, i);
      const double half = canvas.text_width(series.labels[i], size) / 2;
      const auto around = [&](double x, double y) {
        return Box{.left = x - half, .top = y - high / 2, .right = x + half, .bottom = y + high / 2};
      };
      const std::array<Box, 4> places = {
          around(here.x, here.y - away - high / 2), around(here.x, here.y + away + high / 2),
          around(here.x + away + half, here.y), around(here.x - away - half, here.y)};
      const auto has_room = [&](const Box& box) {
        return is_inside(box, plot()) &&
               std::ranges::none_of(taken, [&](const Box& other) { return do_overlap(box, other); });
      };
      const auto* const free = std::ranges::find_if(places, has_room);
      const Box& box = free == places.end() ? places[0] : *free;
      taken.push_back(box);
      canvas.write(series.labels[i], {.x = box.left, .y = box.bottom}, size, letters);
    }
  }

  static bool is_inside(const Box& box, const Box& around) {
    return box.left >= around.left && box.right <= around.right && box.top >= around.top &&
           box.bottom <= around.bottom;
  }

  static bool do_overlap(const Box& one, const Box& other) {
    return one.left < other.right && other.left < one.right && one.top < other.bottom &&
           other.top < one.bottom;
  }

  Pen pen_of(const ChartSeries& series, Colour colour) const {
    Pen pen{.thickness = line_width(series), .colour = colour};
    if (series.reference) {
      pen.dash = 6 * unit_;
      pen.gap = 4 * unit_;
    }
    return pen;
  }

  Point place(const ChartSeries& series, size_t i) const {
    return {.x = x_.place(series.x[i]), .y = y_.place(series.y[i])};
  }

  static void join(std::vector<Segment>& way, Way kind, Point from, Point to) {
    if (kind == Way::none) return;
    if (kind == Way::straight) {
      way.push_back({.from = from, .to = to});
      return;
    }
    const Point corner{.x = to.x, .y = from.y};
    way.push_back({.from = from, .to = corner});
    way.push_back({.from = corner, .to = to});
  }

  Segment tick_at(Point place) const {
    const double half = 5 * unit_;
    return {.from = {.x = place.x, .y = place.y - half}, .to = {.x = place.x, .y = place.y + half}};
  }

  double line_width(const ChartSeries& series) const {
    return std::max(1.0, (series.reference ? 1.4 : 2.2) * unit_);
  }

  void draw_legend() {
    std::vector<size_t> entries;
    double longest = 0;
    for (size_t i = 0; i < chart_.series.size(); ++i) {
      if (chart_.series[i].name.empty()) continue;
      entries.push_back(i);
      longest = std::max(longest, text_width(chart_.series[i].name));
    }
    if (entries.empty()) return;
    // In sizes of the font: a sample, the name, and rows with room between them.
    constexpr double sample = 1.9, space = 0.6, row = 1.4;
    const double columns = space + sample + space + longest / font() + space;
    const double rows = row * static_cast<double>(entries.size()) + space;
    const Box inside = plot();
    const double gap = 6 * unit_;
    const double size =
        std::min({font(), (inside.width() - 2 * gap) / columns, (inside.height() - 2 * gap) / rows});
    const Box box = emptiest_corner(std::round(columns * size), std::round(rows * size), gap);
    canvas_.fill(box, ground, 0.85);
    for (size_t i = 0; i < entries.size(); ++i) {
      const ChartSeries& series = chart_.series[entries[i]];
      const double middle = box.top + (space / 2 + row * (static_cast<double>(i) + 0.5)) * size;
      const Point from{.x = box.left + space * size, .y = middle};
      draw_sample(series, from, sample * size, colour_of(entries[i]));
      canvas_.write(series.name,
                    {.x = from.x + (sample + space) * size, .y = middle + drawing::capital_height / 2 * size},
                    size, letters);
    }
  }

  void draw_sample(const ChartSeries& series, Point from, double length, Colour colour) {
    const Point to{.x = from.x + length, .y = from.y}, middle{.x = from.x + length / 2, .y = from.y};
    if (series.way != Way::none) canvas_.stroke(std::array{Segment{from, to}}, pen_of(series, colour));
    if (series.mark == Mark::dot)
      canvas_.stroke(std::array{Segment{middle, middle}}, {.thickness = 8 * unit_, .colour = colour});
    if (series.mark == Mark::tick)
      canvas_.stroke(std::array{tick_at(middle)}, {.thickness = 1.5 * unit_, .colour = colour});
  }

  /// Measured on the curves alone, without the grid.
  Box emptiest_corner(double width, double height, double gap) const {
    Canvas curves(chart_.width, chart_.height);
    draw_series(curves);
    const Box inside = plot();
    Box best;
    double least = std::numeric_limits<double>::infinity();
    for (const double top : {inside.top + gap, inside.bottom - gap - height}) {
      for (const double left : {inside.right - gap - width, inside.left + gap}) {
        const Box box{.left = left, .top = top, .right = left + width, .bottom = top + height};
        const double hidden = curves.ink(box);
        if (hidden >= least) continue;
        least = hidden;
        best = box;
      }
    }
    return best;
  }

  static constexpr int steps = 6;  // that an axis is divided into, about

  const Chart& chart_;
  double unit_;  // 1 where the shorter side has 480 pixels
  Canvas canvas_;
  Scale x_, y_;
  double numeral_room_ = 0;  // pixels for those of the y axis
};

}  // namespace

Image draw_chart(const Chart& chart) {
  assert(chart.width >= 120 && chart.height >= 90);
  return Drawing(chart).result();
}

}  // namespace larmor
