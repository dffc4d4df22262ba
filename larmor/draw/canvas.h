// A white picture to draw smooth strokes on. Positions are in pixels: (0, 0) is the centre of the upper left
// one, x goes right and y down.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "larmor/base/image.h"

namespace larmor::drawing {

struct Point {
  double x = 0, y = 0;
};

/// With equal ends it is a dot.
struct Segment {
  Point from, to;
};

struct Colour {
  uint8_t red = 0, green = 0, blue = 0;
};

/// From the first pixel's centre to the last one's.
struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;
};

class Canvas {
 public:
  Canvas(int width, int height);

  /// Strokes with round ends, `thickness` pixels wide; what leaves `clip` is cut off. All of them cover the
  /// ground once, however they cross. Requires: finite positions.
  void stroke(std::span<const Segment> segments, double thickness, Colour colour, const Box& clip);
  void stroke(std::span<const Segment> segments, double thickness, Colour colour);
  /// Opacity 1 hides the ground, 0 changes nothing.
  void fill(const Box& box, Colour colour, double opacity = 1);

  /// How much was drawn inside `box`, in wholly black pixels.
  double ink(const Box& box) const;
  Box bounds() const;
  const Image& image() const { return image_; }

 private:
  void blend(int column, int row, Colour colour, double opacity);

  Image image_;  // RGB
};

/// The part of the segment that is inside `box`; nothing, or one segment.
std::vector<Segment> clipped(const Segment& segment, const Box& box);

/// Every `on` pixels of the way drawn and `off` left out, counted on over joints.
std::vector<Segment> dashed(std::span<const Segment> way, double on, double off);

}  // namespace larmor::drawing
