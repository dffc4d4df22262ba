// Counts of pairs of classes, as a table in colours: what was true beside what was said.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "larmor/base/image.h"

namespace larmor {

struct CountTable {
  std::string title = {};
  std::string row_title = {}, column_title = {};     // "true answer", "given answer"
  std::vector<std::string> rows = {}, columns = {};  // names of classes
  std::vector<int64_t> counts = {};                  // row by row
  int smallest = 512;                                // pixels of the shorter side, at least
};

/// RGB on white. A cell's colour is its share of its row, from white to blue, which a bar below explains; its
/// count stands in it, and its share below that where there is room. Cells without anything in them, and
/// rows, are empty. A cell whose row and column have the same name has a dark edge. Names are UTF-8; one that
/// is too long is made smaller. Throws Error (memory). Requires: rows and columns, and a count for each pair.
Image draw_count_table(const CountTable& table);

}  // namespace larmor
