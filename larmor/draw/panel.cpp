#include "larmor/draw/panel.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <utility>

#include "larmor/base/text.h"
#include "larmor/draw/canvas.h"
#include "larmor/draw/panel_layout.h"
#include "larmor/draw/ticks.h"

namespace larmor {
namespace {

using drawing::panel_font;
using drawing::panel_gap;
using drawing::panel_line;
using drawing::PanelBlock;
using drawing::PanelLayout;
using drawing::PanelTile;

constexpr drawing::Colour panel_ink{38, 38, 38}, not_a_number{213, 94, 0}, panel_frame{150, 150, 150};

/// From dark to light, each lighter than the one before: to be read in grey, too.
constexpr std::array<drawing::Colour, 9> heat = {{{0, 0, 4},
                                                  {40, 11, 84},
                                                  {101, 21, 110},
                                                  {159, 42, 99},
                                                  {212, 72, 66},
                                                  {245, 125, 21},
                                                  {250, 193, 39},
                                                  {245, 233, 110},
                                                  {252, 255, 164}}};

drawing::Colour heat_at(double share) {
  const double place = share * static_cast<double>(heat.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(place), heat.size() - 2);
  const double part = place - static_cast<double>(below);
  const auto between = [&](uint8_t one, uint8_t other) {
    return static_cast<uint8_t>(std::lround(one + part * (other - one)));
  };
  const drawing::Colour &low = heat[below], &high = heat[below + 1];
  return {between(low.red, high.red), between(low.green, high.green), between(low.blue, high.blue)};
}

/// From 0 to 1; NaN stays it.
double share_of(double value, const PanelScale& scale) {
  const double share = (value - scale.low) / (scale.high - scale.low);
  return std::isnan(share) ? share : std::clamp(share, 0.0, 1.0);
}

drawing::Colour colour_of(double value, const PanelScale& scale) {
  const double share = share_of(value, scale);
  if (std::isnan(share)) return not_a_number;
  if (scale.colours == PanelScale::Colours::heat) return heat_at(share);
  const auto grey = static_cast<uint8_t>(std::lround(255 * share));
  return {grey, grey, grey};
}

Image picture_of(const PanelPlane& plane, const PanelScale& scale) {
  assert(plane.values.size() ==
         static_cast<std::size_t>(plane.rows) * static_cast<std::size_t>(plane.columns));
  Image picture{.width = plane.columns, .height = plane.rows, .channels = 3, .pixels = {}};
  picture.pixels.reserve(plane.values.size() * 3);
  for (const float value : plane.values) {
    const drawing::Colour colour = colour_of(static_cast<double>(value), scale);
    picture.pixels.insert(picture.pixels.end(), {colour.red, colour.green, colour.blue});
  }
  return picture;
}

/// The value between the centres of the voxels, at shares of the whole plane.
double value_at(const PanelPlane& plane, double across, double down) {
  const double x = std::clamp(across * plane.columns - 0.5, 0.0, plane.columns - 1.0);
  const double y = std::clamp(down * plane.rows - 0.5, 0.0, plane.rows - 1.0);
  const int left = static_cast<int>(x), top = static_cast<int>(y);
  const int right = std::min(left + 1, plane.columns - 1), bottom = std::min(top + 1, plane.rows - 1);
  const auto at = [&](int column, int row) {
    return static_cast<double>(
        plane.values[static_cast<std::size_t>(row) * static_cast<std::size_t>(plane.columns) +
                     static_cast<std::size_t>(column)]);
  };
  const double part_x = x - left, part_y = y - top;
  return (1 - part_y) * ((1 - part_x) * at(left, top) + part_x * at(right, top)) +
         part_y * ((1 - part_x) * at(left, bottom) + part_x * at(right, bottom));
}

/// The plane with colours over it, in as many pixels as it has in the panel.
Image overlaid(const PanelPlane& plane, const PanelScale& greys, const PanelOverlay& overlay,
               const PanelScale& scale, const drawing::Box& box) {
  constexpr double most = 0.75;
  Image picture{.width = static_cast<int>(box.width()),
                .height = static_cast<int>(box.height()),
                .channels = 3,
                .pixels = {}};
  for (int row = 0; row < picture.height; ++row) {
    for (int column = 0; column < picture.width; ++column) {
      const double across = (column + 0.5) / picture.width, down = (row + 0.5) / picture.height;
      const drawing::Colour below = colour_of(value_at(plane, across, down), greys);
      const double value = value_at(overlay.plane, across, down), share = share_of(value, scale);
      const double opacity = std::isnan(share) ? 1 : most * share;
      const drawing::Colour above = colour_of(value, scale);
      const auto mixed = [&](uint8_t one, uint8_t other) {
        return static_cast<uint8_t>(std::lround(one + opacity * (other - one)));
      };
      picture.pixels.insert(
          picture.pixels.end(),
          {mixed(below.red, above.red), mixed(below.green, above.green), mixed(below.blue, above.blue)});
    }
  }
  return picture;
}

class PanelDrawing {
 public:
  PanelDrawing(const Panel& panel, std::vector<PanelScale> scales)
      : panel_(panel),
        scales_(std::move(scales)),
        layout_(drawing::lay_out(panel, drawing::Canvas(1, 1))),
        canvas_(layout_.width, layout_.height) {}

  Image result() {
    canvas_.write_centred(panel_.title, layout_.title, drawing::panel_title_font, panel_ink);
    for (std::size_t i = 0; i < panel_.cases.size(); ++i) draw_case(panel_.cases[i], layout_.blocks[i]);
    draw_bar();
    for (std::size_t i = 0; i < scales_.size(); ++i) draw_scale(scales_[i], layout_.scales[i].colours);
    write_left(panel_.note, layout_.note, panel_font);
    return canvas_.image();
  }

 private:
  void write_left(std::string_view words, const drawing::Box& box, double wanted) {
    const double size = canvas_.fitting_size(words, box.width(), wanted);
    canvas_.write(words, {.x = box.left, .y = drawing::base_line(box, size)}, size, panel_ink);
  }

  void draw_case(const PanelCase& one, const PanelBlock& block) {
    drawing::Box name = block.box;
    name.bottom = name.top + panel_line;
    write_left(one.name, name, drawing::panel_name_font);
    for (std::size_t i = 0; i < one.images.size(); ++i)
      canvas_.write_centred(one.images[i].title, block.titles[i], panel_font, panel_ink);
    for (const PanelTile& tile : block.tiles) draw_tile(one, tile);
    for (std::size_t row = 0; row < block.row_names.size(); ++row)
      write_row_name(one, row, block.row_names[row]);
    drawing::Box line = block.words;
    for (const std::string& words : block.lines) {
      line.bottom = line.top + panel_line;
      write_left(words, line, panel_font);
      line.top = line.bottom;
    }
  }

  void write_row_name(const PanelCase& one, std::size_t row, const drawing::Box& box) {
    if (box.height() == 0) return;
    const auto has_row = [&](const PanelImage& image) { return row < image.planes.size(); };
    const std::string& name = std::ranges::find_if(one.images, has_row)->planes[row].name;
    const double size = canvas_.fitting_size(name, box.height(), panel_font);
    const double back = canvas_.text_width(name, size) / 2;
    canvas_.write(name, {.x = box.right - panel_gap, .y = (box.top + box.bottom) / 2 + back}, size, panel_ink,
                  drawing::Direction::up);
  }

  void draw_tile(const PanelCase& one, const PanelTile& tile) {
    const PanelImage& image = one.images[tile.image];
    const PanelPlane& plane = image.planes[tile.plane];
    const PanelScale& scale = scales_[image.scale];
    if (tile.plane < image.overlays.size()) {
      const PanelOverlay& overlay = image.overlays[tile.plane];
      canvas_.paste(overlaid(plane, scale, overlay, scales_[overlay.scale], tile.box), tile.box);
    } else {
      canvas_.paste(picture_of(plane, scale), tile.box);
    }
    if (tile.is_named) {
      drawing::Box above = tile.box;
      above.bottom = tile.box.top;
      above.top = above.bottom - panel_line;
      canvas_.write_centred(plane.name, above, panel_font, panel_ink);
    }
    const PanelPlane* const before = drawing::plane_before(one, tile.image, tile.plane);
    if (before == nullptr || !have_same_edges(*before, plane)) write_edges(plane, tile.box);
  }

  static bool have_same_edges(const PanelPlane& one, const PanelPlane& other) {
    return one.left == other.left && one.right == other.right && one.top == other.top &&
           one.bottom == other.bottom;
  }

  void write_edges(const PanelPlane& plane, const drawing::Box& box) {
    const double size = std::clamp(0.12 * std::min(box.width(), box.height()), 9.0, panel_font);
    const double capital = drawing::capital_height * size, margin = 3;
    const double middle = (box.left + box.right) / 2, height = (box.top + box.bottom + capital) / 2;
    const auto width = [&](const std::string& letter) { return canvas_.text_width(letter, size); };
    const auto put = [&](const std::string& letter, double x, double y) {
      if (!letter.empty()) canvas_.write_on_picture(letter, {.x = x, .y = y}, size);
    };
    put(plane.left, box.left + margin, height);
    put(plane.right, box.right - margin - width(plane.right), height);
    put(plane.top, middle - width(plane.top) / 2, box.top + margin + capital);
    put(plane.bottom, middle - width(plane.bottom) / 2, box.bottom - margin);
  }

  void draw_bar() {
    if (layout_.bar_length == 0) return;
    const drawing::Box& place = layout_.bar;
    const double middle = std::round((place.top + place.bottom) / 2);
    canvas_.fill({.left = place.left, .top = middle - 2, .right = place.right, .bottom = middle + 2},
                 panel_ink);
    drawing::Box words = place;
    words.top = place.bottom;
    words.bottom = words.top + panel_line;
    canvas_.write(text(layout_.bar_length, " ", panel_.unit_of_length),
                  {.x = words.left, .y = drawing::base_line(words, panel_font)}, panel_font, panel_ink);
  }

  void draw_scale(const PanelScale& scale, const drawing::Box& box) {
    assert(scale.high > scale.low);
    PanelPlane ramp{.columns = static_cast<int>(box.width()), .rows = 1};
    for (int i = 0; i < ramp.columns; ++i)
      ramp.values.push_back(
          static_cast<float>(scale.low + (scale.high - scale.low) * i / (ramp.columns - 1)));
    const drawing::Box edge{
        .left = box.left - 1, .top = box.top - 1, .right = box.right + 1, .bottom = box.bottom + 1};
    canvas_.fill(edge, panel_frame);
    canvas_.paste(picture_of(ramp, scale), box);
    drawing::Box words = box;
    words.bottom = box.top - 2;
    words.top = words.bottom - panel_line + 2;
    write_left(scale.unit.empty() ? scale.title : text(scale.title, " (", scale.unit, ")"), words,
               panel_font);
    words.top = box.bottom;
    words.bottom = words.top + panel_line;
    write_left(text(scale.low), words, panel_font);
    const std::string high = text(scale.high);
    canvas_.write(
        high,
        {.x = box.right - canvas_.text_width(high, panel_font), .y = drawing::base_line(words, panel_font)},
        panel_font, panel_ink);
  }

  const Panel& panel_;
  const std::vector<PanelScale> scales_;
  const PanelLayout layout_;
  drawing::Canvas canvas_;
};

/// Those of the panel, with the ends that its values ask for.
std::vector<PanelScale> fitted_scales(const Panel& panel) {
  std::vector<PanelScale> scales = panel.scales;
  for (std::size_t scale = 0; scale < scales.size(); ++scale) {
    if (!scales[scale].ends_by_values) continue;
    std::vector<const PanelPlane*> planes;
    for (const PanelCase& one : panel.cases) {
      for (const PanelImage& image : one.images) {
        for (const PanelPlane& plane : image.planes) {
          if (image.scale == scale) planes.push_back(&plane);
        }
        for (const PanelOverlay& overlay : image.overlays) {
          if (overlay.scale == scale) planes.push_back(&overlay.plane);
        }
      }
    }
    scales[scale].high = std::max(scale_end(planes), scales[scale].low + 1e-9);
  }
  return scales;
}

}  // namespace

PanelPlane difference_of(const PanelPlane& first, const PanelPlane& second) {
  assert(first.columns == second.columns && first.rows == second.rows);
  PanelPlane difference = first;
  for (std::size_t i = 0; i < difference.values.size(); ++i)
    difference.values[i] = std::abs(first.values[i] - second.values[i]);
  return difference;
}

std::vector<PanelPlane> differences_of(const PanelImage& first, const PanelImage& second) {
  assert(first.planes.size() == second.planes.size());
  std::vector<PanelPlane> differences;
  for (std::size_t i = 0; i < first.planes.size(); ++i)
    differences.push_back(difference_of(first.planes[i], second.planes[i]));
  return differences;
}

double scale_end(const std::vector<const PanelPlane*>& planes) {
  std::vector<float> values;
  for (const PanelPlane* const plane : planes) {
    for (const float value : plane->values) {
      if (std::isfinite(value)) values.push_back(value);
    }
  }
  if (values.empty()) return 1;
  const auto place = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) * 999 / 1000);
  std::ranges::nth_element(values, place);
  if (!(*place > 0)) return 1;
  return drawing::rounded_out({.low = 0, .high = static_cast<double>(*place)}, 1).high;
}

Image draw_panel(const Panel& panel) { return PanelDrawing(panel, fitted_scales(panel)).result(); }

}  // namespace larmor
