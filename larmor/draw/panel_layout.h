// Where everything of a panel stands, in pixels.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "larmor/draw/canvas.h"
#include "larmor/draw/panel.h"

namespace larmor::drawing {

/// Sizes of letters, and room between things.
constexpr double panel_font = 14, panel_name_font = 16, panel_title_font = 20;
constexpr double panel_line = 20, panel_margin = 16, panel_gap = 6;

/// One plane of an image of a case.
struct PanelTile {
  std::size_t image = 0, plane = 0;
  Box box = {};           // whole pixels
  bool is_named = false;  // its name stands above it
};

struct PanelBlock {
  Box box = {};  // all of the case
  std::vector<PanelTile> tiles = {};
  std::vector<Box> titles = {};         // above each image
  std::vector<Box> row_names = {};      // at the left of the rows, empty boxes where there is none
  Box words = {};                       // at the right
  std::vector<std::string> lines = {};  // of words
};

struct PanelScaleBar {
  Box colours = {};  // the title stands above, numerals below
};

struct PanelLayout {
  int width = 0, height = 0;
  double pixels = 1;  // of a unit of length
  std::vector<PanelBlock> blocks = {};
  Box title = {};
  double bar_length = 0;  // in units of length; 0: no bar
  Box bar = {};
  std::vector<PanelScaleBar> scales = {};
  Box note = {};
};

/// The plane in the same row of the nearest image at the left of this one that has such a row; null where
/// none has.
const PanelPlane* plane_before(const PanelCase& one, std::size_t image, std::size_t row);

/// `measure` is asked for the lengths of words.
PanelLayout lay_out(const Panel& panel, const Canvas& measure);

/// Lines of at most `room` pixels, printable, broken between words and, where one is too long, within it; a
/// paragraph begins a line, and what it has beyond `most_lines_of_paragraph` is cut off, with "…" for it.
constexpr std::size_t most_lines_of_paragraph = 5;
std::vector<std::string> broken_into_lines(const std::vector<std::string>& paragraphs, double room,
                                           const Canvas& measure);

}  // namespace larmor::drawing
