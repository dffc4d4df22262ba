#include "larmor/base/table.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "larmor/base/printable.h"

namespace larmor {
namespace {

/// Letters as a terminal counts them: the bytes that begin one in UTF-8.
size_t width_of(std::string_view cell) {
  return static_cast<size_t>(
      std::count_if(cell.begin(), cell.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
}

}  // namespace

void Table::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::to_text(int indent) const {
  std::vector<size_t> widths;
  for (const auto& row : rows_) {
    // The last cell of a row pushes nothing to the right: a long sentence must not widen its column.
    for (size_t column = 0; column + 1 < row.size(); ++column) {
      if (column == widths.size()) widths.push_back(0);
      widths[column] = std::max(widths[column], width_of(row[column]));
    }
  }
  std::string out;
  for (const auto& row : rows_) {
    out.append(static_cast<size_t>(indent), ' ');
    for (size_t column = 0; column < row.size(); ++column) {
      out += row[column];
      if (column + 1 < row.size()) out.append(widths[column] - width_of(row[column]) + 2, ' ');
    }
    out += '\n';
  }
  return out;
}

}  // namespace larmor
