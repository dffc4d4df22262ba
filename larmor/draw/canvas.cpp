#include "larmor/draw/canvas.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>

namespace larmor::drawing {
namespace {

/// Pixels from `left` and `top` up to, and without, `right` and `bottom`.
struct PixelBox {
  int left, top, right, bottom;

  bool empty() const { return left >= right || top >= bottom; }
};

// The pixels of `inner` that `outer`, which has some, has too. Positions may be too far away for an int.
PixelBox pixels_of(const Box& inner, const Box& outer) {
  const auto first = [](double place, double low, double high) {
    return static_cast<int>(std::ceil(std::clamp(place, low, high + 1)));
  };
  const auto end = [](double place, double low, double high) {
    return static_cast<int>(std::floor(std::clamp(place, low - 1, high))) + 1;
  };
  return {.left = first(inner.left, outer.left, outer.right),
          .top = first(inner.top, outer.top, outer.bottom),
          .right = end(inner.right, outer.left, outer.right),
          .bottom = end(inner.bottom, outer.top, outer.bottom)};
}

Box around(const Segment& segment, double margin) {
  const auto [left, right] = std::minmax({segment.from.x, segment.to.x});
  const auto [top, bottom] = std::minmax({segment.from.y, segment.to.y});
  return {.left = left - margin, .top = top - margin, .right = right + margin, .bottom = bottom + margin};
}

double distance(const Segment& segment, double x, double y) {
  const double along_x = segment.to.x - segment.from.x, along_y = segment.to.y - segment.from.y;
  const double from_x = x - segment.from.x, from_y = y - segment.from.y;
  const double squared = along_x * along_x + along_y * along_y;
  const double part =
      squared > 0 ? std::clamp((from_x * along_x + from_y * along_y) / squared, 0.0, 1.0) : 0.0;
  return std::hypot(from_x - part * along_x, from_y - part * along_y);
}

}  // namespace

Canvas::Canvas(int width, int height)
    : image_{.width = width, .height = height, .channels = 3, .pixels = {}} {
  assert(width > 0 && height > 0);
  image_.pixels.assign(static_cast<size_t>(width) * static_cast<size_t>(height) * 3, 255);
}

Box Canvas::bounds() const {
  return {.left = 0,
          .top = 0,
          .right = static_cast<double>(image_.width - 1),
          .bottom = static_cast<double>(image_.height - 1)};
}

void Canvas::blend(int column, int row, Colour colour, double opacity) {
  const size_t first =
      (static_cast<size_t>(row) * static_cast<size_t>(image_.width) + static_cast<size_t>(column)) * 3;
  const std::array<uint8_t, 3> ink = {colour.red, colour.green, colour.blue};
  for (size_t channel = 0; channel < 3; ++channel) {
    uint8_t& pixel = image_.pixels[first + channel];
    pixel = static_cast<uint8_t>(std::lround(pixel + (ink[channel] - pixel) * opacity));
  }
}

void Canvas::stroke(std::span<const Segment> segments, double thickness, Colour colour) {
  stroke(segments, thickness, colour, bounds());
}

void Canvas::stroke(std::span<const Segment> segments, double thickness, Colour colour, const Box& clip) {
  if (segments.empty()) return;
  // A pixel is covered by the stroke up to half a pixel beyond its edge.
  const double reach = thickness / 2 + 0.5;
  Box whole = around(segments.front(), reach);
  for (const Segment& segment : segments) {
    const Box one = around(segment, reach);
    whole = {.left = std::min(whole.left, one.left),
             .top = std::min(whole.top, one.top),
             .right = std::max(whole.right, one.right),
             .bottom = std::max(whole.bottom, one.bottom)};
  }
  const PixelBox visible = pixels_of(clip, bounds());
  if (visible.empty()) return;
  const Box limit{.left = static_cast<double>(visible.left),
                  .top = static_cast<double>(visible.top),
                  .right = static_cast<double>(visible.right - 1),
                  .bottom = static_cast<double>(visible.bottom - 1)};
  const PixelBox area = pixels_of(whole, limit);
  if (area.empty()) return;
  const auto columns = static_cast<size_t>(area.right - area.left);
  std::vector<float> covered(columns * static_cast<size_t>(area.bottom - area.top), 0);
  for (const Segment& segment : segments) {
    const PixelBox near = pixels_of(around(segment, reach), limit);
    for (int row = near.top; row < near.bottom; ++row) {
      float* const line = covered.data() + static_cast<size_t>(row - area.top) * columns;
      for (int column = near.left; column < near.right; ++column) {
        const auto share = static_cast<float>(reach - distance(segment, column, row));
        float& pixel = line[column - area.left];
        pixel = std::max(pixel, std::min(share, 1.0F));
      }
    }
  }
  for (int row = area.top; row < area.bottom; ++row) {
    const float* const line = covered.data() + static_cast<size_t>(row - area.top) * columns;
    for (int column = area.left; column < area.right; ++column) {
      if (const float share = line[column - area.left]; share > 0)
        blend(column, row, colour, static_cast<double>(share));
    }
  }
}

void Canvas::fill(const Box& box, Colour colour, double opacity) {
  const PixelBox area = pixels_of(box, bounds());
  for (int row = area.top; row < area.bottom; ++row) {
    for (int column = area.left; column < area.right; ++column) blend(column, row, colour, opacity);
  }
}

double Canvas::ink(const Box& box) const {
  const PixelBox area = pixels_of(box, bounds());
  int64_t darkness = 0;
  for (int row = area.top; row < area.bottom; ++row) {
    for (int column = area.left; column < area.right; ++column) {
      const size_t first =
          (static_cast<size_t>(row) * static_cast<size_t>(image_.width) + static_cast<size_t>(column)) * 3;
      for (size_t channel = 0; channel < 3; ++channel) darkness += 255 - image_.pixels[first + channel];
    }
  }
  return static_cast<double>(darkness) / (3 * 255);
}

std::vector<Segment> clipped(const Segment& segment, const Box& box) {
  const double along_x = segment.to.x - segment.from.x, along_y = segment.to.y - segment.from.y;
  // Where an end is cut off it lies on a border, exactly; what is far away has no digits left to say so.
  const auto at = [&](double part) {
    return Point{.x = std::clamp(segment.from.x + part * along_x, box.left, box.right),
                 .y = std::clamp(segment.from.y + part * along_y, box.top, box.bottom)};
  };
  double enters = 0, leaves = 1;
  Segment inside = segment;
  const auto cut = [&](double step, double room, double Point::* across, double border) {
    if (step == 0) return room >= 0;
    double& part = step > 0 ? leaves : enters;
    const double crossed = room / step;
    if (step > 0 ? crossed >= part : crossed <= part) return true;
    part = crossed;
    Point& end = step > 0 ? inside.to : inside.from;
    end = at(crossed);
    end.*across = border;
    return true;
  };
  const bool touches = cut(-along_x, segment.from.x - box.left, &Point::x, box.left) &&
                       cut(along_x, box.right - segment.from.x, &Point::x, box.right) &&
                       cut(-along_y, segment.from.y - box.top, &Point::y, box.top) &&
                       cut(along_y, box.bottom - segment.from.y, &Point::y, box.bottom);
  if (!touches || enters > leaves) return {};
  return {inside};
}

std::vector<Segment> dashed(std::span<const Segment> way, double on, double off) {
  std::vector<Segment> dashes;
  double gone = 0;  // since the last dash began
  for (const Segment& segment : way) {
    const double along_x = segment.to.x - segment.from.x, along_y = segment.to.y - segment.from.y;
    const double length = std::hypot(along_x, along_y);
    if (length == 0) continue;
    const auto at = [&](double place) {
      const double part = std::min(place / length, 1.0);
      return Point{.x = segment.from.x + part * along_x, .y = segment.from.y + part * along_y};
    };
    double start = -gone;
    for (; start < length; start += on + off) {
      if (start + on > 0)
        dashes.push_back({.from = at(std::max(start, 0.0)), .to = at(std::min(start + on, length))});
    }
    gone = length - (start - (on + off));
  }
  return dashes;
}

}  // namespace larmor::drawing
