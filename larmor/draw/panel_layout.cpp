#include "larmor/draw/panel_layout.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "larmor/base/printable.h"
#include "larmor/base/text.h"
#include "larmor/draw/ticks.h"

namespace larmor::drawing {
namespace {

constexpr double wanted_shape = 1.5;   // width over height
constexpr double most_pixels = 1.8e6;  // of a panel, where its images stay as large as `least_side`
constexpr double first_side = 320, least_side = 112, most_side = 1200;  // pixels of the largest image
constexpr double words_width = 300, scale_width = 200, scale_height = 14;
constexpr double row_name_width = 22;

struct Size {
  double width = 0, height = 0;
};

Size size_of(const PanelPlane& plane, double pixels) {
  return {.width = std::max(1.0, std::round(plane.columns * plane.column_width * pixels)),
          .height = std::max(1.0, std::round(plane.rows * plane.row_height * pixels))};
}

std::size_t rows_of(const PanelCase& one) {
  std::size_t rows = 0;
  for (const PanelImage& image : one.images) rows = std::max(rows, image.planes.size());
  return rows;
}

std::set<std::string> names_in_row(const PanelCase& one, std::size_t row) {
  std::set<std::string> names;
  for (const PanelImage& image : one.images) {
    if (row < image.planes.size()) names.insert(image.planes[row].name);
  }
  return names;
}

bool begins_at_the_left(const PanelCase& one, std::size_t row) {
  return !one.images.empty() && row < one.images.front().planes.size();
}

bool are_named_in_row(const PanelCase& one, std::size_t row) {
  const auto names = names_in_row(one, row);
  return names.size() == 1 && !names.begin()->empty() && begins_at_the_left(one, row);
}

bool have_names_above(const PanelCase& one, std::size_t row) {
  const auto names = names_in_row(one, row);
  return names.size() > 1 || (!names.empty() && !names.begin()->empty() && !begins_at_the_left(one, row));
}

/// Planes that follow one another in a row are named once.
bool is_named_anew(const PanelCase& one, std::size_t image, std::size_t row) {
  const PanelPlane* const before = plane_before(one, image, row);
  return before == nullptr || before->name != one.images[image].planes[row].name;
}

double names_height(const PanelCase& one) { return one.name.empty() ? 0 : panel_line + 2; }

/// The boxes above the images, side by side; those of their planes are as wide.
void place_titles(PanelBlock& block, const PanelCase& one, double left, double pixels) {
  const bool are_there =
      std::ranges::any_of(one.images, [](const PanelImage& image) { return !image.title.empty(); });
  const double top = names_height(one), bottom = top + (are_there ? panel_line : 0);
  for (const PanelImage& image : one.images) {
    double width = 0;
    for (const PanelPlane& plane : image.planes) width = std::max(width, size_of(plane, pixels).width);
    block.titles.push_back({.left = left, .top = top, .right = left + width, .bottom = bottom});
    left += width + panel_gap;
  }
}

/// One row of planes from `top`; gives where it ends.
double place_row(PanelBlock& block, const PanelCase& one, std::size_t row, double top, double pixels) {
  const bool has_names_above = have_names_above(one, row);
  if (has_names_above) top += panel_line;
  double height = 0;
  for (const PanelImage& image : one.images) {
    if (row < image.planes.size()) height = std::max(height, size_of(image.planes[row], pixels).height);
  }
  Box name;
  if (are_named_in_row(one, row))
    name = {.left = 0, .top = top, .right = row_name_width, .bottom = top + height};
  block.row_names.push_back(name);
  for (std::size_t column = 0; column < one.images.size(); ++column) {
    const PanelImage& image = one.images[column];
    if (row >= image.planes.size()) continue;
    const Size size = size_of(image.planes[row], pixels);
    const Box& title = block.titles[column];
    const double x = title.left + std::floor((title.width() - size.width) / 2);
    const double y = top + std::floor((height - size.height) / 2);
    block.tiles.push_back({.image = column,
                           .plane = row,
                           .box = {.left = x, .top = y, .right = x + size.width, .bottom = y + size.height},
                           .is_named = has_names_above && is_named_anew(one, column, row)});
  }
  return top + height;
}

/// A case at the origin.
PanelBlock block_of(const PanelCase& one, const std::vector<std::string>& lines, double pixels,
                    const Canvas& measure) {
  PanelBlock block;
  const std::size_t rows = rows_of(one);
  bool has_row_names = false;
  for (std::size_t row = 0; row < rows; ++row) has_row_names = has_row_names || are_named_in_row(one, row);
  place_titles(block, one, has_row_names ? row_name_width : 0, pixels);
  double right = block.titles.empty() ? 0 : block.titles.back().right;
  double bottom = block.titles.empty() ? names_height(one) : block.titles.back().bottom;
  for (std::size_t row = 0; row < rows; ++row)
    bottom = place_row(block, one, row, bottom + (row > 0 ? panel_gap : 0), pixels);
  if (!one.words.empty()) {
    block.lines = lines;
    const double left = right + (one.images.empty() ? 0 : 2 * panel_gap), top = names_height(one);
    const double end = top + panel_line * static_cast<double>(block.lines.size());
    block.words = {.left = left, .top = top, .right = left + words_width, .bottom = end};
    right = block.words.right;
    bottom = std::max(bottom, end);
  }
  // A name has some room even over one small image.
  right = std::max(right, std::min(160.0, measure.text_width(one.name, panel_name_font)));
  block.box = {.left = 0, .top = 0, .right = std::ceil(right), .bottom = std::ceil(bottom)};
  return block;
}

/// Those of the words of each case, which are the same at every size of the images.
using LinesOfCases = std::vector<std::vector<std::string>>;

std::vector<PanelBlock> blocks_of(const Panel& panel, const LinesOfCases& lines, double pixels,
                                  const Canvas& measure) {
  std::vector<PanelBlock> blocks;
  for (std::size_t i = 0; i < panel.cases.size(); ++i)
    blocks.push_back(block_of(panel.cases[i], lines[i], pixels, measure));
  return blocks;
}

void move(Box& box, double right, double down) {
  box = {.left = box.left + right,
         .top = box.top + down,
         .right = box.right + right,
         .bottom = box.bottom + down};
}

void move(PanelBlock& block, double right, double down) {
  move(block.box, right, down);
  for (PanelTile& tile : block.tiles) move(tile.box, right, down);
  for (Box& title : block.titles) move(title, right, down);
  for (Box& name : block.row_names) move(name, right, down);
  move(block.words, right, down);
}

/// The blocks in rows of so many, from the origin.
Size arrange(std::vector<PanelBlock>& blocks, std::size_t across) {
  constexpr double apart = 3 * panel_gap;
  std::vector<double> widths(across, 0);
  for (std::size_t i = 0; i < blocks.size(); ++i)
    widths[i % across] = std::max(widths[i % across], blocks[i].box.width());
  Size all;
  double top = 0;
  for (std::size_t row = 0; row < blocks.size(); row += across) {
    double left = 0, height = 0;
    for (std::size_t i = row; i < std::min(row + across, blocks.size()); ++i) {
      move(blocks[i], left - blocks[i].box.left, top - blocks[i].box.top);
      left += widths[i - row] + apart;
      height = std::max(height, blocks[i].box.height());
    }
    all.width = std::max(all.width, left - apart);
    top += height + apart;
  }
  all.height = std::max(0.0, top - apart);
  return all;
}

/// In rows of as many as make the whole nearest to the wanted shape, and leave few places empty.
Size arrange(std::vector<PanelBlock>& blocks) {
  std::size_t best = 1;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t across = 1; across <= blocks.size(); ++across) {
    const Size size = arrange(blocks, across);
    const std::size_t places = (blocks.size() + across - 1) / across * across;
    const double empty = 1 - static_cast<double>(blocks.size()) / static_cast<double>(places);
    const double miss =
        std::abs(std::log(size.width / std::max(size.height, 1.0) / wanted_shape)) + 2 * empty;
    if (miss >= least) continue;
    least = miss;
    best = across;
  }
  return arrange(blocks, best);
}

double longest_side(const Panel& panel) {
  double longest = 0;
  for (const PanelCase& one : panel.cases) {
    for (const PanelImage& image : one.images) {
      for (const PanelPlane& plane : image.planes)
        longest = std::max({longest, plane.columns * plane.column_width, plane.rows * plane.row_height});
    }
  }
  return longest;
}

/// The blocks of the panel and, below them, its legend.
PanelLayout lay_out_at(const Panel& panel, const LinesOfCases& lines, double pixels, const Canvas& measure) {
  PanelLayout layout{.pixels = pixels};
  layout.blocks = blocks_of(panel, lines, pixels, measure);
  const Size size = arrange(layout.blocks);
  const double title = panel.title.empty() ? 0 : panel_title_font + 2 * panel_gap;
  const double inner = std::max({size.width, scale_width, panel.smallest - 2 * panel_margin});
  // The images stand in the middle where the legend or the smallest size asks for more room.
  const double room = std::floor((inner - size.width) / 2);
  for (PanelBlock& block : layout.blocks) move(block, panel_margin + room, panel_margin + title);
  layout.title = {.left = panel_margin,
                  .top = panel_margin,
                  .right = panel_margin + inner,
                  .bottom = panel_margin + panel_title_font};
  double top = panel_margin + title + size.height + 2 * panel_gap, left = panel_margin;
  constexpr double item_height = 2 * panel_line + scale_height;
  const auto next = [&](double width) {
    if (left > panel_margin && left + width > panel_margin + inner) {
      left = panel_margin;
      top += item_height + panel_gap;
    }
    const Box place{.left = left,
                    .top = top + panel_line,
                    .right = left + width,
                    .bottom = top + panel_line + scale_height};
    left += width + 5 * panel_gap;
    return place;
  };
  if (const double longest = longest_side(panel); longest > 0 && !panel.unit_of_length.empty()) {
    const double most = std::min(0.75 * longest, scale_width / pixels);
    const double unit = std::pow(10, std::floor(std::log10(most)));
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor * unit <= most) layout.bar_length = factor * unit;
    }
    const double length = std::max(1.0, std::round(layout.bar_length * pixels));
    layout.bar = next(std::max(length, 60.0));
    layout.bar.right = layout.bar.left + length;
  }
  for (std::size_t i = 0; i < panel.scales.size(); ++i)
    layout.scales.push_back({.colours = next(scale_width)});
  const bool has_legend = layout.bar_length > 0 || !panel.scales.empty();
  if (has_legend) top += item_height;
  layout.note = {.left = panel_margin, .top = top, .right = panel_margin + inner, .bottom = top + panel_line};
  if (!panel.note.empty()) top += panel_line;
  layout.width = static_cast<int>(std::ceil(inner + 2 * panel_margin));
  layout.height = std::max(panel.smallest, static_cast<int>(std::ceil(top + panel_margin)));
  return layout;
}

// The size that all voxels have, where they have one.
std::optional<double> only_voxel(const Panel& panel) {
  std::optional<double> found;
  for (const PanelCase& one : panel.cases) {
    for (const PanelImage& image : one.images) {
      for (const PanelPlane& plane : image.planes) {
        for (const double size : {plane.column_width, plane.row_height}) {
          if (found && std::abs(size / *found - 1) > 1e-6) return {};
          found = size;
        }
      }
    }
  }
  return found;
}

Size size_at(const Panel& panel, const LinesOfCases& lines, double pixels, const Canvas& measure) {
  std::vector<PanelBlock> blocks = blocks_of(panel, lines, pixels, measure);
  return arrange(blocks);
}

/// UTF-8, letter by letter.
std::vector<std::string> letters_of(const std::string& words) {
  std::vector<std::string> letters;
  for (const char byte : words) {
    const bool goes_on = (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
    if (!goes_on || letters.empty()) letters.emplace_back();
    letters.back() += byte;
  }
  return letters;
}

/// With "…" at its end, and without as many letters before it as do not fit.
template <class Fits>
std::string cut_to_fit(const std::string& line, const Fits& fits) {
  std::vector<std::string> letters = letters_of(line);
  while (!letters.empty() && !fits(join(letters, "") + "…")) letters.pop_back();
  return join(letters, "") + "…";
}

}  // namespace

const PanelPlane* plane_before(const PanelCase& one, std::size_t image, std::size_t row) {
  while (image-- > 0) {
    if (row < one.images[image].planes.size()) return &one.images[image].planes[row];
  }
  return nullptr;
}

std::vector<std::string> broken_into_lines(const std::vector<std::string>& paragraphs, double room,
                                           const Canvas& measure) {
  const auto fits = [&](const std::string& line) { return measure.text_width(line, panel_font) <= room; };
  std::vector<std::string> lines;
  for (const std::string& paragraph : paragraphs) {
    std::vector<std::string> own(1);
    for (const std::string& word : split(printable(paragraph), ' ')) {
      const std::string longer = own.back().empty() ? word : own.back() + " " + word;
      if (fits(longer)) {
        own.back() = longer;
        continue;
      }
      if (!own.back().empty()) own.emplace_back();
      if (fits(word)) {
        own.back() = word;
        continue;
      }
      for (const std::string& letter : letters_of(word)) {
        if (!own.back().empty() && !fits(own.back() + letter)) own.emplace_back();
        own.back() += letter;
      }
    }
    if (own.size() > most_lines_of_paragraph) {
      own.resize(most_lines_of_paragraph);
      own.back() = cut_to_fit(own.back(), fits);
    }
    lines.insert(lines.end(), own.begin(), own.end());
  }
  return lines;
}

PanelLayout lay_out(const Panel& panel, const Canvas& measure) {
  LinesOfCases lines;
  for (const PanelCase& one : panel.cases)
    lines.push_back(broken_into_lines(one.words, words_width, measure));
  const double longest = longest_side(panel);
  if (longest == 0) return lay_out_at(panel, lines, 1, measure);
  constexpr double step = 1.05, share_of_images = 0.75;
  const auto is_too_large = [&](double scale) {
    const Size size = size_at(panel, lines, scale, measure);
    return size.width * size.height > most_pixels;
  };
  const auto is_too_small = [&](double scale) {
    const Size size = size_at(panel, lines, scale, measure);
    return std::min(size.width, size.height) < share_of_images * panel.smallest;
  };
  double pixels = first_side / longest;
  while (pixels * longest > least_side && is_too_large(pixels)) pixels /= step;
  while (pixels * longest < most_side && is_too_small(pixels)) pixels *= step;
  // Voxels of one size are enlarged by a whole factor.
  if (const auto voxel = only_voxel(panel); voxel && *voxel * pixels > 1) {
    const double factor = std::max(1.0, std::round(*voxel * pixels));
    pixels = factor / *voxel;
  }
  return lay_out_at(panel, lines, pixels, measure);
}

}  // namespace larmor::drawing
