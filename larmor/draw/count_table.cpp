#include "larmor/draw/count_table.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <span>

#include "larmor/base/text.h"
#include "larmor/draw/canvas.h"

namespace larmor {
namespace {

using drawing::Box;
using drawing::Canvas;
using drawing::Colour;

constexpr Colour table_ink{38, 38, 38}, table_frame{150, 150, 150}, table_white{255, 255, 255},
    full_share{0, 114, 178};
constexpr double table_font = 15, table_title_font = 20, table_margin = 16, table_gap = 8, table_line = 20;
constexpr double most_name = 230, share_bar_width = 200, share_bar_height = 14;

Colour colour_of_share(double share) {
  const auto between = [share](uint8_t none, uint8_t all) {
    return static_cast<uint8_t>(std::lround(none + share * (all - none)));
  };
  return {between(table_white.red, full_share.red), between(table_white.green, full_share.green),
          between(table_white.blue, full_share.blue)};
}

struct TableLayout {
  int width = 1, height = 1;
  double cell = 0;                       // pixels of a side
  double row_room = 0, column_room = 0;  // for names
  bool are_lying = true;                 // names of columns, which stand otherwise
  Box cells = {};
};

double room_for(const std::vector<std::string>& names, const Canvas& measure) {
  double longest = 0;
  for (const std::string& name : names) longest = std::max(longest, measure.text_width(name, table_font));
  return std::ceil(std::min(longest, most_name)) + table_gap;
}

TableLayout layout_of(const CountTable& table, const Canvas& measure) {
  const auto rows = static_cast<double>(table.rows.size()),
             columns = static_cast<double>(table.columns.size());
  constexpr double wanted = 420, least_cell = 42, most_cell = 160;
  TableLayout layout;
  layout.cell = std::clamp(std::floor(wanted / std::max(rows, columns)), least_cell, most_cell);
  layout.row_room = room_for(table.rows, measure);
  layout.are_lying = room_for(table.columns, measure) <= layout.cell;
  layout.column_room = layout.are_lying ? table_line : room_for(table.columns, measure);
  constexpr double legend = table_line + share_bar_height + table_line;
  const double left = table_margin + table_line + layout.row_room;
  const double top = table_margin + table_title_font + 2 * table_gap + table_line + layout.column_room;
  const double inner_width = left + std::max(columns * layout.cell, share_bar_width) + table_margin,
               inner_height = top + rows * layout.cell + 2 * table_gap + legend + table_margin;
  const double title = measure.text_width(table.title, table_title_font) + 2 * table_margin;
  const double smallest = table.smallest;
  layout.width =
      static_cast<int>(std::ceil(std::max({inner_width, smallest, std::min(title, 1.5 * inner_width)})));
  layout.height = static_cast<int>(std::ceil(std::max(inner_height, smallest)));
  const double right = std::floor((layout.width - inner_width) / 2),
               down = std::floor((layout.height - inner_height) / 2);
  layout.cells = {.left = left + right,
                  .top = top + down,
                  .right = left + right + columns * layout.cell,
                  .bottom = top + down + rows * layout.cell};
  return layout;
}

class TableDrawing {
 public:
  explicit TableDrawing(const CountTable& table)
      : table_(table), layout_(layout_of(table, Canvas(1, 1))), canvas_(layout_.width, layout_.height) {
    assert(table.counts.size() == table.rows.size() * table.columns.size());
  }

  Image result() {
    canvas_.write_centred(table_.title,
                          {.left = table_margin,
                           .top = table_margin,
                           .right = layout_.width - table_margin,
                           .bottom = table_margin + table_title_font},
                          table_title_font, table_ink);
    canvas_.write_centred(table_.column_title,
                          {.left = layout_.cells.left,
                           .top = layout_.cells.top - layout_.column_room - table_line,
                           .right = layout_.cells.right,
                           .bottom = layout_.cells.top - layout_.column_room},
                          table_font, table_ink);
    write_upwards(table_.row_title,
                  {.left = layout_.cells.left - layout_.row_room - table_line,
                   .top = layout_.cells.top,
                   .right = layout_.cells.left - layout_.row_room,
                   .bottom = layout_.cells.bottom},
                  /*is_centred=*/true);
    for (std::size_t row = 0; row < table_.rows.size(); ++row) draw_row(row);
    draw_share_bar();
    return canvas_.image();
  }

 private:
  double length_of(const std::string& words) const { return canvas_.text_width(words, table_font); }

  /// From the lower end of the box, or in its middle.
  void write_upwards(const std::string& words, const Box& box, bool is_centred) {
    const double size = canvas_.fitting_size(words, box.height(), table_font);
    const double back = is_centred ? (box.height() - canvas_.text_width(words, size)) / 2 : 0;
    const double middle = (box.left + box.right) / 2 + drawing::capital_height / 2 * size;
    canvas_.write(words, {.x = std::round(middle), .y = box.bottom - back}, size, table_ink,
                  drawing::Direction::up);
  }

  Box cell_at(std::size_t row, std::size_t column) const {
    const double left = layout_.cells.left + static_cast<double>(column) * layout_.cell,
                 top = layout_.cells.top + static_cast<double>(row) * layout_.cell;
    return {.left = left, .top = top, .right = left + layout_.cell, .bottom = top + layout_.cell};
  }

  void draw_row(std::size_t row) {
    const auto counts = std::span(table_.counts).subspan(row * table_.columns.size(), table_.columns.size());
    int64_t all = 0;
    for (const int64_t count : counts) all += count;
    Box name = cell_at(row, 0);
    name.right = name.left - table_gap;
    name.left = name.right + table_gap - layout_.row_room;
    const double size = canvas_.fitting_size(table_.rows[row], name.width(), table_font);
    canvas_.write(
        table_.rows[row],
        {.x = name.right - canvas_.text_width(table_.rows[row], size), .y = drawing::base_line(name, size)},
        size, table_ink);
    for (std::size_t column = 0; column < counts.size(); ++column) {
      const Box cell = cell_at(row, column);
      if (row == 0) write_column_name(table_.columns[column], cell);
      draw_cell(cell, counts[column], all, table_.rows[row] == table_.columns[column]);
    }
  }

  void write_column_name(const std::string& name, const Box& cell) {
    Box box = cell;
    box.bottom = cell.top - table_gap / 2;
    box.top = cell.top - layout_.column_room;
    if (layout_.are_lying) {
      canvas_.write_centred(name, box, table_font, table_ink);
    } else {
      write_upwards(name, box, /*is_centred=*/false);
    }
  }

  void draw_cell(const Box& cell, int64_t count, int64_t of_row, bool is_right) {
    const double share = of_row == 0 ? 0 : static_cast<double>(count) / static_cast<double>(of_row);
    const double edge = is_right ? 2 : 1;
    canvas_.fill(cell, is_right ? table_ink : table_frame);
    const Box inside{.left = cell.left + edge,
                     .top = cell.top + edge,
                     .right = cell.right - edge,
                     .bottom = cell.bottom - edge};
    canvas_.fill(inside, colour_of_share(share));
    if (count == 0) return;
    const Colour ink = share > 0.6 ? table_white : table_ink;
    constexpr double least_for_share = 56;
    Box words = inside;
    if (layout_.cell >= least_for_share) {
      const double middle = (inside.top + inside.bottom) / 2;
      words = {
          .left = inside.left + 2, .top = middle - table_line, .right = inside.right - 2, .bottom = middle};
      Box below = words;
      below.top = middle;
      below.bottom = middle + table_line;
      canvas_.write_centred(text(std::lround(100 * share), " %"), below, 0.85 * table_font, ink);
    }
    canvas_.write_centred(text(count), words, table_font, ink);
  }

  void draw_share_bar() {
    const double left = layout_.cells.left, top = layout_.cells.bottom + 2 * table_gap + table_line;
    const Box bar{
        .left = left, .top = top, .right = left + share_bar_width, .bottom = top + share_bar_height};
    canvas_.fill({.left = bar.left - 1, .top = bar.top - 1, .right = bar.right + 1, .bottom = bar.bottom + 1},
                 table_frame);
    for (double x = bar.left; x < bar.right; ++x)
      canvas_.fill({.left = x, .top = bar.top, .right = x + 1, .bottom = bar.bottom},
                   colour_of_share((x - bar.left) / (bar.width() - 1)));
    const auto write = [&](const std::string& words, double x, double y) {
      canvas_.write(words, {.x = x, .y = y}, table_font, table_ink);
    };
    write("share of the row", bar.left, bar.top - table_gap / 2 - 1);
    const double numerals = bar.bottom + table_line - 4;
    write("0", bar.left, numerals);
    write("1", bar.right - length_of("1"), numerals);
  }

  const CountTable& table_;
  const TableLayout layout_;
  Canvas canvas_;
};

}  // namespace

Image draw_count_table(const CountTable& table) { return TableDrawing(table).result(); }

}  // namespace larmor
