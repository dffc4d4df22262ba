// Images of several cases side by side, as one shows them to others: enlarged, with names, directions of the
// body, a bar of so many millimetres, and what the greys and colours mean.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "larmor/base/image.h"

namespace larmor {

/// Values on a regular grid of rows and columns.
struct PanelPlane {
  int columns = 0, rows = 0;
  std::vector<float> values = {};                            // row by row from the top, columns to the right
  double column_width = 1, row_height = 1;                   // of one value, in the panel's unit of length
  std::string name = {};                                     // "axial"
  std::string left = {}, right = {}, top = {}, bottom = {};  // letters at the edges: "R", "L", "A", "P"
};

/// What values look like; a bar below the images shows it.
struct PanelScale {
  enum class Colours {
    grey,  // from black to white
    heat,  // from black by red and yellow to nearly white
  };
  std::string title = {};  // "intensity"
  std::string unit = {};   // "HU"; none where empty
  /// Values beyond them look like the ends.
  double low = 0, high = 1;
  Colours colours = Colours::grey;
  /// The high end is scale_end() of all that the panel shows by this scale.
  bool ends_by_values = false;
};

/// Values over an image: at their scale's low end the image alone is seen, at its high end mostly the colour.
struct PanelOverlay {
  std::size_t scale = 0;  // of Panel::scales
  PanelPlane plane = {};  // over the whole plane below, whatever its own grid
};

/// One column of a case: its planes stand below each other.
struct PanelImage {
  std::string title = {};  // "source t1n", "target", "|difference|"
  std::size_t scale = 0;   // of Panel::scales
  std::vector<PanelPlane> planes = {};
  std::vector<PanelOverlay> overlays = {};  // of the first planes, one each
};

struct PanelCase {
  std::string name = {};
  std::vector<PanelImage> images = {};
  /// Paragraphs beside the images: a question, its answer. Each has a few lines, and what is longer is cut.
  std::vector<std::string> words = {};
};

struct Panel {
  std::string title = {};
  std::vector<PanelScale> scales = {};
  std::vector<PanelCase> cases = {};
  std::string unit_of_length = "mm";  // "voxels" where their size is not known; empty: there is no bar
  std::string note = {};              // a line at the bottom
  int smallest = 512;                 // pixels of the shorter side, at least
};

/// |first - second|, on the grid of `first`. Requires: grids of one size.
PanelPlane difference_of(const PanelPlane& first, const PanelPlane& second);
/// The same of each of their planes. Requires: as many planes.
std::vector<PanelPlane> differences_of(const PanelImage& first, const PanelImage& second);
/// The end of a scale from 0 that shows all of these but the largest thousandth: 1, 2 or 5 times a power of
/// ten. 1 where no value is above 0.
double scale_end(const std::vector<const PanelPlane*>& planes);

/// RGB on white. One length is as many pixels everywhere in the panel, in both directions: voxels keep their
/// proportions, and images their sizes beside each other. Between voxels greys are interpolated; what is no
/// number is vermilion. Cases stand side by side and below each other, so that the panel is a little wider
/// than high; what is too long to be written becomes smaller. Letters of the edges stand on the first image
/// of a case, and on others whose letters differ from those at their left. A plane's name stands at the left
/// of its row, or above it where the images of a row have different ones or the first image has no such row.
/// Throws Error (memory). Requires: planes with values, as many as rows times columns, of
/// positive sizes; scales whose high end is above the low one, and as many as are asked for.
Image draw_panel(const Panel& panel);

}  // namespace larmor
