// A white picture to draw on, by Cairo. Positions are in pixels: (0, 0) is the upper left corner of the upper
// left pixel, whose centre is (0.5, 0.5); x goes right and y down.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "larmor/base/image.h"

namespace larmor::drawing {

struct Point {
  double x = 0, y = 0;
};

/// A line, or a dot where its ends are equal.
struct Segment {
  Point from, to;
};

struct Colour {
  uint8_t red = 0, green = 0, blue = 0;
};

struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;

  double width() const { return right - left; }
  double height() const { return bottom - top; }
};

struct Pen {
  double thickness = 1;
  Colour colour = {};
  /// Pixels of the way that are drawn and left out in turn; all of it is drawn where they are 0.
  double dash = 0, gap = 0;
};

enum class Direction { right, up };

class Canvas {
 public:
  /// Throws Error (memory). Requires: sides from 1 to 32767 pixels.
  Canvas(int width, int height);
  ~Canvas();
  Canvas(Canvas&&) noexcept;

  /// Smooth lines with round ends; a segment that begins where the one before it ends goes on with its
  /// dashes. What leaves `clip` is cut off. Requires: finite positions.
  void stroke(std::span<const Segment> way, const Pen& pen, const Box& clip);
  void stroke(std::span<const Segment> way, const Pen& pen);
  /// Opacity 1 hides the ground, 0 changes nothing.
  void fill(const Box& box, Colour colour, double opacity = 1);
  /// The picture enlarged to `box`, smoothly between the centres of its pixels, or made smaller by averages.
  void paste(const Image& picture, const Box& box, double opacity = 1);

  /// Pixels from where the words begin to where the next ones would. `size`: of the font, pixels from one
  /// line to the next.
  double text_width(std::string_view words, double size) const;
  /// The largest size, up to `wanted`, at which the words are no wider than `room`.
  double fitting_size(std::string_view words, double room, double wanted) const;
  /// UTF-8; what cannot be shown is written as base/printable.h has it. `start`: where the first letter
  /// stands on the base line.
  void write(std::string_view words, Point start, double size, Colour colour,
             Direction direction = Direction::right);
  /// One line in the middle of the box, in its fitting_size().
  void write_centred(std::string_view words, const Box& box, double wanted, Colour colour);
  /// Writes in white with a dark edge, which is readable on every grey.
  void write_on_picture(std::string_view words, Point start, double size);

  /// How much was drawn inside `box`, in wholly black pixels.
  double ink(const Box& box) const;
  Box bounds() const;
  /// RGB. Throws Error (memory, unexpected) where something could not be drawn.
  Image image() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// A part of the font's size: the height of capitals and figures.
constexpr double capital_height = 0.729;
/// The y on which letters of that size stand, so that capitals are in the middle of the box.
double base_line(const Box& box, double size);

/// The part of the segment that is inside `box`; nothing, or one segment.
std::vector<Segment> clipped(const Segment& segment, const Box& box);

}  // namespace larmor::drawing
