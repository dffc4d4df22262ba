#include "larmor/draw/panel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "larmor/draw/canvas.h"
#include "larmor/draw/panel_layout.h"

namespace larmor {
namespace {

using drawing::Box;
using PanelRgb = std::array<int, 3>;

PanelRgb colour_at(const Image& image, double column, double row) {
  const auto first = (static_cast<std::size_t>(row) * static_cast<std::size_t>(image.width) +
                      static_cast<std::size_t>(column)) *
                     3;
  return {image.pixels[first], image.pixels[first + 1], image.pixels[first + 2]};
}

PanelRgb colour_in_the_middle(const Image& image, const Box& box) {
  return colour_at(image, (box.left + box.right) / 2, (box.top + box.bottom) / 2);
}

PanelPlane plane_of(float value, int columns = 16, int rows = 12) {
  PanelPlane plane{.columns = columns, .rows = rows};
  plane.values.assign(static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows), value);
  return plane;
}

Panel panel_of(const PanelPlane& plane, const PanelScale& scale = {.title = "intensity"}) {
  return {.scales = {scale}, .cases = {{.images = {{.planes = {plane}}}}}};
}

drawing::PanelLayout layout_of(const Panel& panel) { return drawing::lay_out(panel, drawing::Canvas(1, 1)); }

Box tile_of(const Panel& panel, std::size_t tile = 0) {
  return layout_of(panel).blocks.at(0).tiles.at(tile).box;
}

/// Pixels that differ inside the box.
int changed(const Image& one, const Image& other, const Box& box) {
  int count = 0;
  for (int row = static_cast<int>(box.top); row < box.bottom; ++row) {
    for (int column = static_cast<int>(box.left); column < box.right; ++column)
      count += colour_at(one, column, row) != colour_at(other, column, row) ? 1 : 0;
  }
  return count;
}

TEST(DrawPanel, ShowsEachVoxelWhereItIs) {
  PanelPlane plane = plane_of(0);
  plane.values[16 * 2 + 13] = 1;  // the third row, the fourteenth column
  const Panel panel = panel_of(plane);
  const Image image = draw_panel(panel);
  const Box box = tile_of(panel);
  const double voxel = box.width() / 16;
  EXPECT_GE(colour_at(image, box.left + 13.5 * voxel, box.top + 2.5 * voxel)[0], 250);
  EXPECT_EQ(colour_at(image, box.left + 2.5 * voxel, box.top + 2.5 * voxel)[0], 0);
  EXPECT_EQ(colour_at(image, box.left + 13.5 * voxel, box.top + 9.5 * voxel)[0], 0);
  EXPECT_GE(std::min(image.width, image.height), 512);
}

TEST(DrawPanel, ShowsValuesBeyondTheWindowAsItsEnds) {
  const PanelScale window{.title = "window", .unit = "HU", .low = -200, .high = 300};
  const auto grey_of = [&](float value) {
    const Panel panel = panel_of(plane_of(value), window);
    return colour_in_the_middle(draw_panel(panel), tile_of(panel));
  };
  constexpr float infinite = std::numeric_limits<float>::infinity();
  EXPECT_EQ(grey_of(-200), (PanelRgb{0, 0, 0}));
  EXPECT_EQ(grey_of(-5000), grey_of(-200));
  EXPECT_EQ(grey_of(-infinite), grey_of(-200));
  EXPECT_EQ(grey_of(300), (PanelRgb{255, 255, 255}));
  EXPECT_EQ(grey_of(5000), grey_of(300));
  EXPECT_EQ(grey_of(infinite), grey_of(300));
  EXPECT_NEAR(grey_of(50)[0], 128, 1);
  EXPECT_EQ(grey_of(std::nanf("")), (PanelRgb{213, 94, 0})) << "no number is vermilion";
}

TEST(DrawPanel, PutsTheLettersOfTheBodyAtTheEdgesOfTheFirstImage) {
  Panel plain = panel_of(plane_of(0, 20, 20));
  plain.cases[0].images.push_back(plain.cases[0].images[0]);
  const Image without = draw_panel(plain);
  const Box first = tile_of(plain, 0), second = tile_of(plain, 1);
  const double width = first.width() / 4, middle_x = (first.left + first.right) / 2,
               middle_y = (first.top + first.bottom) / 2;
  const std::array<Box, 4> edges = {
      {{first.left, middle_y - width, first.left + width, middle_y + width},
       {first.right - width, middle_y - width, first.right, middle_y + width},
       {middle_x - width, first.top, middle_x + width, first.top + width},
       {middle_x - width, first.bottom - width, middle_x + width, first.bottom}}};
  const std::array<std::string PanelPlane::*, 4> letters = {&PanelPlane::left, &PanelPlane::right,
                                                            &PanelPlane::top, &PanelPlane::bottom};
  for (std::size_t edge = 0; edge < edges.size(); ++edge) {
    Panel lettered = plain;
    for (PanelImage& image : lettered.cases[0].images) image.planes[0].*letters[edge] = "R";
    const Image with = draw_panel(lettered);
    EXPECT_GT(changed(with, without, edges[edge]), 20) << edge;
    EXPECT_EQ(changed(with, without, first), changed(with, without, edges[edge])) << edge << ": only there";
    EXPECT_EQ(changed(with, without, second), 0) << "the others of a case are not written on";
  }
}

TEST(DrawPanel, PutsLettersOnAnImageWhoseSidesAreOthersThanThoseAtItsLeft) {
  Panel panel = panel_of(plane_of(0, 20, 20));
  panel.cases[0].images[0].planes[0].left = "A";
  panel.cases[0].images.push_back(panel.cases[0].images[0]);
  const Image same = draw_panel(panel);
  panel.cases[0].images[1].planes[0].left = "P";
  const Image other = draw_panel(panel);
  EXPECT_GT(changed(same, other, tile_of(panel, 1)), 20);
  EXPECT_EQ(changed(same, other, tile_of(panel, 0)), 0);
}

TEST(DrawPanel, DrawsTheBarAsLongAsItSays) {
  PanelPlane plane = plane_of(0, 32, 20);
  plane.column_width = plane.row_height = 2.5;
  const Panel panel = panel_of(plane);
  const Image image = draw_panel(panel);
  const drawing::PanelLayout layout = layout_of(panel);
  const double row = std::round((layout.bar.top + layout.bar.bottom) / 2);
  int dark = 0;
  for (int column = 0; column < image.width / 2; ++column)
    dark += colour_at(image, column, row) == PanelRgb{38, 38, 38} ? 1 : 0;
  const double pixels_of_mm = tile_of(panel).width() / (32 * 2.5);
  EXPECT_NEAR(dark, layout.bar_length * pixels_of_mm, 1);
  EXPECT_EQ(layout.bar_length, 20) << "of 80 mm";
  Panel unknown = panel;
  unknown.unit_of_length = "voxels";
  const Box words{layout.bar.left, layout.bar.bottom, layout.bar.left + 100, layout.bar.bottom + 20};
  EXPECT_GT(changed(image, draw_panel(unknown), words), 20) << "the unit is written";
}

TEST(DrawPanel, ShowsInEachBarTheColoursOfItsScale) {
  Panel panel = panel_of(plane_of(0.25F));
  panel.scales.push_back({.title = "|difference|", .high = 4, .colours = PanelScale::Colours::heat});
  panel.cases[0].images.push_back({.scale = 1, .planes = {plane_of(3)}});
  const Image image = draw_panel(panel);
  const drawing::PanelLayout layout = layout_of(panel);
  for (std::size_t scale = 0; scale < 2; ++scale) {
    const Box& bar = layout.scales[scale].colours;
    const double share = scale == 0 ? 0.25 : 0.75;
    const PanelRgb found = colour_in_the_middle(image, layout.blocks[0].tiles[scale].box);
    const PanelRgb shown = colour_at(image, bar.left + share * (bar.width() - 1) + 0.5, bar.top + 5);
    for (std::size_t channel = 0; channel < 3; ++channel) EXPECT_NEAR(found[channel], shown[channel], 4);
    EXPECT_LT(colour_at(image, bar.left + 1, bar.top + 5)[0], 10);
    EXPECT_GT(colour_at(image, bar.right - 2, bar.top + 5)[0], 240);
  }
  panel.scales[1].high = 5;
  const Image other = draw_panel(panel);
  const Box& bar = layout.scales[1].colours;
  EXPECT_GT(changed(image, other, {bar.right - 20, bar.bottom, bar.right, bar.bottom + 20}), 10)
      << "its end is written";
}

TEST(DrawPanel, EndsAScaleWhereTheValuesOfAllItsImagesDo) {
  Panel panel = panel_of(plane_of(0.3F));
  panel.scales.push_back({.title = "|difference|", .ends_by_values = true});
  panel.cases[0].images.push_back({.scale = 1, .planes = {plane_of(3)}});
  panel.cases.push_back(
      {.images = {{.scale = 0, .planes = {plane_of(90)}}, {.scale = 1, .planes = {plane_of(4)}}}});
  Panel same = panel;
  same.scales[1] = {.title = "|difference|", .high = 5};
  EXPECT_EQ(draw_panel(panel).pixels, draw_panel(same).pixels);
  same.scales[1].high = 6;
  EXPECT_NE(draw_panel(panel).pixels, draw_panel(same).pixels);
}

TEST(DrawPanel, WritesNamesTitlesAndWords) {
  const Panel plain = panel_of(plane_of(1, 20, 20));
  PanelPlane named_plane = plane_of(1, 20, 20);
  named_plane.name = "axial";
  Panel full = panel_of(named_plane);
  full.title = "autoencoder";
  full.note = "two of nine cases";
  full.cases[0].name = "BraTS-GLI-00002-000";
  full.cases[0].images[0].title = "target";
  full.cases[0].words = {"Where is the effusion?"};
  const Image image = draw_panel(full);
  const drawing::PanelLayout layout = layout_of(full);
  const auto ink = [&](const Box& box) {
    int dark = 0;
    for (int row = static_cast<int>(box.top); row < box.bottom; ++row) {
      for (int column = static_cast<int>(box.left); column < box.right; ++column)
        dark += colour_at(image, column, row)[0] < 128 ? 1 : 0;
    }
    return dark;
  };
  const drawing::PanelBlock& block = layout.blocks[0];
  EXPECT_GT(ink(layout.title), 50);
  EXPECT_GT(ink(layout.note), 50);
  EXPECT_GT(ink({block.box.left, block.box.top, block.box.right, block.box.top + 20}), 50);
  EXPECT_GT(ink(block.titles[0]), 20);
  EXPECT_GT(ink(block.row_names[0]), 20);
  EXPECT_GT(ink(block.words), 50);
  EXPECT_EQ(ink(block.tiles[0].box), 0) << "the image itself stays free";
  EXPECT_EQ(layout_of(plain).blocks[0].row_names[0].height(), 0);
}

TEST(DrawPanel, LaysColoursOverAnImage) {
  Panel panel = panel_of(plane_of(0.5F, 28, 28));
  panel.scales.push_back({.title = "saliency", .colours = PanelScale::Colours::heat});
  PanelPlane map = plane_of(0, 7, 7);
  map.values[7 * 1 + 5] = 1;  // upper right
  panel.cases[0].images[0].overlays = {{.scale = 1, .plane = map}};
  const Image image = draw_panel(panel);
  const Box box = tile_of(panel);
  const PanelRgb hot = colour_at(image, box.left + 5.5 / 7 * box.width(), box.top + 1.5 / 7 * box.height());
  EXPECT_GT(hot[0] - hot[2], 40) << "yellow";
  const PanelRgb cold = colour_at(image, box.left + 1.5 / 7 * box.width(), box.top + 5.5 / 7 * box.height());
  EXPECT_NEAR(cold[0], 128, 2) << "the image alone";
  EXPECT_EQ(cold[0], cold[2]);
}

TEST(DrawPanel, SurvivesWhatHasNothingToDraw) {
  EXPECT_GE(draw_panel({}).width, 512);
  EXPECT_GE(draw_panel({.cases = {{.name = std::string(500, 'x')}, {.name = "case \xff\n"}}}).height, 512);
  EXPECT_GE(draw_panel(panel_of(plane_of(0, 1, 1))).height, 512);
}

TEST(DrawPanel, IsTheSameEveryTime) {
  PanelPlane plane = plane_of(0.3F);
  plane.left = "R";
  EXPECT_EQ(draw_panel(panel_of(plane)).pixels, draw_panel(panel_of(plane)).pixels);
}

TEST(DifferenceOf, IsTheSizeOfTheDifference) {
  PanelPlane one = plane_of(0.25F), other = plane_of(1);
  other.values[3] = 0;
  const PanelPlane difference = difference_of(one, other);
  EXPECT_EQ(difference.values[0], 0.75F);
  EXPECT_EQ(difference.values[3], 0.25F);
  EXPECT_EQ(difference.columns, 16);
}

TEST(ScaleEnd, IsARoundNumberAboveAllButAFew) {
  PanelPlane plane = plane_of(0.13F, 100, 100);
  EXPECT_EQ(scale_end({&plane}), 0.2);
  plane.values[0] = 80;  // one of ten thousand
  EXPECT_EQ(scale_end({&plane}), 0.2);
  const PanelPlane higher = plane_of(31, 100, 100), nothing = plane_of(0), none = plane_of(std::nanf(""));
  EXPECT_EQ(scale_end({&plane, &higher}), 50);
  EXPECT_EQ(scale_end({&nothing}), 1);
  EXPECT_EQ(scale_end({&none}), 1);
  EXPECT_EQ(scale_end({}), 1);
}

}  // namespace
}  // namespace larmor
