// Words as strokes: an alphabet on a grid of squares, drawn by joining the squares of each letter, so that it
// has any size and direction.
#pragma once

#include <string_view>
#include <vector>

#include "larmor/draw/canvas.h"

namespace larmor::drawing {

/// Rows of the grid between a capital letter's first and last.
inline constexpr double capital_height = 6;

/// In squares of the grid, from the first letter's first column to the last one's last. What the alphabet
/// lacks is drawn as a box: it has printable ASCII without braces, dollar, backslash and grave accent.
double text_width(std::string_view words);

enum class Direction { right, up };

/// `start`: where the first letter stands on the base line. `square`: pixels from one row of the grid to the
/// next.
std::vector<Segment> lettering(std::string_view words, Point start, double square,
                               Direction direction = Direction::right);

}  // namespace larmor::drawing
