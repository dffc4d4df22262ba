#include "larmor/draw/lettering.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace larmor::drawing {
namespace {

constexpr std::size_t grid_rows = 9, grid_columns = 5;
constexpr std::size_t base_row = 6;  // the two below it are for tails

struct Bank {
  std::string_view letters;
  std::string_view drawing;  // grid_rows lines of one grid for each letter, a space between them
};

constexpr std::array<Bank, 7> banks = {{
    {"ABCDEFGHIJKLM", R"(
..#.. ####. .###. ####. ##### ##### .###. #...# ###.. ....# #...# #.... #...#
.#.#. #...# #...# #...# #.... #.... #...# #...# .#... ....# #..#. #.... ##.##
#...# #...# #.... #...# #.... #.... #.... #...# .#... ....# #.#.. #.... #.#.#
#...# ####. #.... #...# ####. ####. #.### ##### .#... ....# ##... #.... #.#.#
##### #...# #.... #...# #.... #.... #...# #...# .#... ....# #.#.. #.... #...#
#...# #...# #...# #...# #.... #.... #...# #...# .#... #...# #..#. #.... #...#
#...# ####. .###. ####. ##### #.... .###. #...# ###.. .###. #...# ####. #...#
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .....
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .....)"},
    {"NOPQRSTUVWXYZ", R"(
#...# .###. ####. .###. ####. .###. ##### #...# #...# #...# #...# #...# #####
##..# #...# #...# #...# #...# #...# ..#.. #...# #...# #...# #...# #...# ....#
#.#.# #...# #...# #...# #...# #.... ..#.. #...# #...# #...# .#.#. .#.#. ...#.
#.#.# #...# ####. #...# ####. .###. ..#.. #...# #...# #.#.# ..#.. ..#.. ..#..
#..## #...# #.... #.#.# #.#.. ....# ..#.. #...# .#.#. #.#.# .#.#. ..#.. .#...
#...# #...# #.... #..#. #..#. #...# ..#.. #...# .#.#. #.#.# #...# ..#.. #....
#...# .###. #.... .##.# #...# .###. ..#.. .###. ..#.. .#.#. #...# ..#.. #####
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .....
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .....)"},
    {"abcdefghijklm", R"(
..... #.... ..... ...#. ..... .##.. ..... #.... #.... .#... #.... #.... .....
..... #.... ..... ...#. ..... #.... ..... #.... ..... ..... #.... #.... .....
.##.. ###.. .###. .###. .##.. ###.. .###. ###.. #.... .#... #..#. #.... ####.
...#. #..#. #.... #..#. #..#. #.... #..#. #..#. #.... .#... #.#.. #.... #.#.#
.###. #..#. #.... #..#. ####. #.... #..#. #..#. #.... .#... ##... #.... #.#.#
#..#. #..#. #.... #..#. #.... #.... #..#. #..#. #.... .#... #.#.. #.... #.#.#
.###. ###.. .###. .###. .###. #.... .###. #..#. #.... .#... #..#. .#... #.#.#
..... ..... ..... ..... ..... ..... ...#. ..... ..... .#... ..... ..... .....
..... ..... ..... ..... ..... ..... .##.. ..... ..... #.... ..... ..... .....)"},
    {"nopqrstuvwxyz", R"(
..... ..... ..... ..... ..... ..... #.... ..... ..... ..... ..... ..... .....
..... ..... ..... ..... ..... ..... #.... ..... ..... ..... ..... ..... .....
###.. .##.. ###.. .###. #.#.. .###. ###.. #..#. #...# #.#.# #...# #..#. ####.
#..#. #..#. #..#. #..#. ##... #.... #.... #..#. #...# #.#.# .#.#. #..#. ...#.
#..#. #..#. #..#. #..#. #.... .##.. #.... #..#. .#.#. #.#.# ..#.. #..#. .##..
#..#. #..#. #..#. #..#. #.... ...#. #.... #..#. .#.#. #.#.# .#.#. #..#. #....
#..#. .##.. ###.. .###. #.... ###.. .##.. .###. ..#.. .#.#. #...# .###. ####.
..... ..... #.... ...#. ..... ..... ..... ..... ..... ..... ..... ...#. .....
..... ..... #.... ...#. ..... ..... ..... ..... ..... ..... ..... .##.. .....)"},
    {"0123456789.,:", R"(
.##.. ..#.. .##.. .##.. .#... ####. .##.. ####. .##.. .##.. ..... ..... .....
#..#. .##.. #..#. #..#. .#... #.... #.... ...#. #..#. #..#. ..... ..... .....
#..#. ..#.. ...#. ...#. #.... ###.. #.... ...#. #..#. #..#. ..... ..... #....
#..#. ..#.. ..#.. .##.. #.#.. ...#. ###.. ..#.. .##.. .###. ..... ..... .....
#..#. ..#.. .#... ...#. ####. ...#. #..#. ..#.. #..#. ...#. ..... ..... .....
#..#. ..#.. #.... #..#. ..#.. #..#. #..#. .#... #..#. ...#. ..... ..... .....
.##.. .###. ####. .##.. ..#.. .##.. .##.. .#... .##.. .##.. #.... .#... #....
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... #.... .....
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .....)"},
    {";-+*/=<>()[]%", R"(
..... ..... ..... ..... ...#. ..... ..... ..... ..#.. #.... ##... ##... ##..#
..... ..... ..#.. #.#.# ...#. ..... ...#. #.... .#... .#... #.... .#... ##..#
.#... ..... ..#.. .###. ..#.. ####. ..#.. .#... #.... ..#.. #.... .#... ...#.
..... ###.. ##### .###. ..#.. ..... .#... ..#.. #.... ..#.. #.... .#... ..#..
..... ..... ..#.. #.#.# .#... ####. ..#.. .#... #.... ..#.. #.... .#... .#...
..... ..... ..#.. ..... .#... ..... ...#. #.... #.... ..#.. #.... .#... #..##
.#... ..... ..... ..... #.... ..... ..... ..... .#... .#... ##... ##... #..##
#.... ..... ..... ..... ..... ..... ..... ..... ..#.. #.... ..... ..... .....
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .....)"},
    {"_'\"!?&#@|^~", R"(
..... #.... #.#.. #.... .##.. .##.. ..... .###. #.... ..#.. .....
..... #.... #.#.. #.... #..#. #..#. .#.#. #...# #.... .#.#. .....
..... ..... ..... #.... ...#. #..#. ##### #.### #.... #...# .#..#
..... ..... ..... #.... ..#.. .##.. .#.#. #.#.# #.... ..... #.#.#
..... ..... ..... #.... .#... #..## ##### #.### #.... ..... #..#.
..... ..... ..... ..... ..... #..#. .#.#. #.... #.... ..... .....
####. ..... ..... #.... .#... .##.# ..... .###. #.... ..... .....
..... ..... ..... ..... ..... ..... ..... ..... #.... ..... .....
..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .....)"},
}};

/// The squares of one letter.
struct Glyph {
  std::array<std::string_view, grid_rows> rows;
  std::size_t columns;  // up to the last one that is used

  bool has(std::size_t row, std::size_t column) const {
    return row < grid_rows && column < grid_columns && rows[row][column] == '#';
  }
};

Glyph glyph_of(const Bank& bank, std::size_t place) {
  Glyph glyph{.rows = {}, .columns = 0};
  const std::size_t line = bank.letters.size() * (grid_columns + 1);
  for (std::size_t row = 0; row < grid_rows; ++row) {
    // A line break opens each drawing.
    glyph.rows[row] = bank.drawing.substr(1 + row * line + place * (grid_columns + 1), grid_columns);
    if (const auto last = glyph.rows[row].rfind('#'); last != std::string_view::npos)
      glyph.columns = std::max(glyph.columns, last + 1);
  }
  return glyph;
}

Glyph glyph_of(char letter) {
  for (const Bank& bank : banks) {
    if (const auto place = bank.letters.find(letter); place != std::string_view::npos)
      return glyph_of(bank, place);
  }
  constexpr std::string_view blank = ".....", edge = "####.", sides = "#..#.";
  if (letter == ' ') {
    Glyph space{.rows = {}, .columns = 2};
    space.rows.fill(blank);
    return space;
  }
  return {.rows = {edge, sides, sides, sides, sides, sides, edge, blank, blank}, .columns = 4};
}

// Each square is joined with those beside and below it, and cornerwise where no way round leads there.
std::vector<Segment> joined(const Glyph& glyph) {
  std::vector<Segment> strokes;
  const auto join = [&](std::size_t row, std::size_t column, std::size_t to_row, std::size_t to_column) {
    strokes.push_back({.from = {.x = static_cast<double>(column), .y = static_cast<double>(row)},
                       .to = {.x = static_cast<double>(to_column), .y = static_cast<double>(to_row)}});
  };
  for (std::size_t row = 0; row < grid_rows; ++row) {
    for (std::size_t column = 0; column < grid_columns; ++column) {
      if (!glyph.has(row, column)) continue;
      const bool right = glyph.has(row, column + 1), below = glyph.has(row + 1, column);
      // On its own a square is a dot; beside others the dot is hidden by their strokes.
      join(row, column, row, column);
      if (right) join(row, column, row, column + 1);
      if (below) join(row, column, row + 1, column);
      if (!right && !below && glyph.has(row + 1, column + 1)) join(row, column, row + 1, column + 1);
      const bool left = column > 0 && glyph.has(row, column - 1);
      if (column > 0 && !left && !below && glyph.has(row + 1, column - 1))
        join(row, column, row + 1, column - 1);
    }
  }
  return strokes;
}

constexpr double gap = 1;  // empty columns between two letters

}  // namespace

double text_width(std::string_view words) {
  double width = 0;
  for (const char letter : words) width += static_cast<double>(glyph_of(letter).columns) + gap;
  return std::max(0.0, width - gap - 1);
}

std::vector<Segment> lettering(std::string_view words, Point start, double square, Direction direction) {
  std::vector<Segment> strokes;
  double left = 0;
  const auto place = [&](const Point& grid) {
    const double along = (left + grid.x) * square;
    const double above = (static_cast<double>(base_row) - grid.y) * square;
    return direction == Direction::right ? Point{.x = start.x + along, .y = start.y - above}
                                         : Point{.x = start.x - above, .y = start.y - along};
  };
  for (const char letter : words) {
    const Glyph glyph = glyph_of(letter);
    for (const Segment& stroke : joined(glyph))
      strokes.push_back({.from = place(stroke.from), .to = place(stroke.to)});
    left += static_cast<double>(glyph.columns) + gap;
  }
  return strokes;
}

}  // namespace larmor::drawing
