#include "larmor/draw/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace larmor {
namespace {

using Rgb = std::array<int, 3>;
constexpr Rgb blue{0, 114, 178}, vermilion{213, 94, 0}, green{0, 158, 115};
constexpr double missing = std::numeric_limits<double>::quiet_NaN();

Rgb pixel(const Image& image, int column, int row) {
  const auto first = static_cast<size_t>((row * image.width + column) * 3);
  return {image.pixels[first], image.pixels[first + 1], image.pixels[first + 2]};
}

// Whether the colour covers at least half of the pixel, whose rest is white.
bool shows(const Rgb& found, const Rgb& colour) {
  const auto strongest = static_cast<size_t>(std::ranges::min_element(colour) - colour.begin());
  const double covered = (255.0 - found[strongest]) / (255 - colour[strongest]);
  for (size_t channel = 0; channel < 3; ++channel) {
    if (std::abs(255 - covered * (255 - colour[channel]) - found[channel]) > 2) return false;
  }
  return covered >= 0.5;
}

struct Extent {
  int pixels = 0, left = 100000, right = -1, top = 100000, bottom = -1;
};

Extent extent_of(const Image& image, const Rgb& colour) {
  Extent found;
  for (int row = 0; row < image.height; ++row) {
    for (int column = 0; column < image.width; ++column) {
      if (!shows(pixel(image, column, row), colour)) continue;
      ++found.pixels;
      found.left = std::min(found.left, column);
      found.right = std::max(found.right, column);
      found.top = std::min(found.top, row);
      found.bottom = std::max(found.bottom, row);
    }
  }
  return found;
}

Chart chart_of(std::vector<ChartSeries> series) {
  return {.title = "title",
          .x = {.title = "x"},
          .y = {.title = "y"},
          .series = std::move(series),
          .width = 640,
          .height = 480};
}

Image drawn(std::vector<ChartSeries> series) { return draw_chart(chart_of(std::move(series))); }

TEST(DrawChart, GivesAPictureOfTheSizeAsked) {
  for (const auto& [width, height] : {std::pair{640, 480}, {120, 90}, {300, 700}, {1600, 200}}) {
    Chart chart = chart_of({{.name = "a long name of a series", .x = {0, 1}, .y = {0, 1}}});
    chart.width = width;
    chart.height = height;
    const Image image = draw_chart(chart);
    EXPECT_EQ(image.width, width);
    EXPECT_EQ(image.height, height);
    EXPECT_EQ(image.channels, 3);
    EXPECT_EQ(image.pixels.size(), static_cast<size_t>(width * height * 3));
    EXPECT_GT(extent_of(image, blue).pixels, width > 200 ? 100 : 0);
  }
}

TEST(DrawChart, PutsLargerValuesHigherAndFurtherRight) {
  const Image image =
      drawn({{.x = {0, 1}, .y = {0, 1}, .way = ChartSeries::Way::none, .mark = ChartSeries::Mark::dot},
             {.x = {1}, .y = {0}}});
  const Extent corners = extent_of(image, blue), lower_right = extent_of(image, vermilion);
  EXPECT_GT(lower_right.top, corners.top + 300);
  EXPECT_GT(lower_right.left, corners.left + 400);
  EXPECT_EQ(lower_right.right, corners.right);
  EXPECT_EQ(lower_right.bottom, corners.bottom);
}

TEST(DrawChart, DrawsStepsThatHoldUntilTheNextValue) {
  const auto at_the_corner = [](ChartSeries::Way way) {
    const Image image = drawn({{.x = {0, 1}, .y = {1, 0}, .way = way}});
    const Extent all = extent_of(image, blue);
    return shows(pixel(image, all.right - 1, all.top + 1), blue);
  };
  EXPECT_TRUE(at_the_corner(ChartSeries::Way::steps));
  EXPECT_FALSE(at_the_corner(ChartSeries::Way::straight));
}

TEST(DrawChart, LeavesAGapWhereAValueIsMissing) {
  const std::vector<double> x = {0, 1, 2, 3, 4, 5, 6};
  const Image whole = drawn({{.x = x, .y = {1, 1, 1, 1, 1, 1, 1}}});
  const auto middle_row = [](const Image& image) {
    return (extent_of(image, blue).top + extent_of(image, blue).bottom) / 2;
  };
  const Extent line = extent_of(whole, blue);
  const int centre = (line.left + line.right) / 2;
  EXPECT_TRUE(shows(pixel(whole, centre, middle_row(whole)), blue));
  for (const double gap : {missing, std::numeric_limits<double>::infinity(), -1e200}) {
    const Image broken = drawn({{.x = x, .y = {1, 1, 1, gap, 1, 1, 1}}});
    EXPECT_FALSE(shows(pixel(broken, centre, middle_row(broken)), blue)) << gap;
    EXPECT_TRUE(shows(pixel(broken, centre - 120, middle_row(broken)), blue)) << gap;
    EXPECT_TRUE(shows(pixel(broken, centre + 120, middle_row(broken)), blue)) << gap;
  }
}

TEST(DrawChart, ShowsAPointWithoutNeighboursAsADot) {
  const Extent dot = extent_of(drawn({{.x = {3}, .y = {7}}}), blue);
  EXPECT_NEAR(dot.right - dot.left, 7, 1);
  EXPECT_NEAR(dot.bottom - dot.top, 7, 1);
  const Image image = drawn({{.x = {0, 1, 2, 3, 4}, .y = {0, 0, missing, 1, missing}}});
  EXPECT_GT(extent_of(image, blue).pixels, 300);
  EXPECT_LT(extent_of(image, blue).top, 60) << "the dot at 1";
}

TEST(DrawChart, SurvivesWhatHasNothingToDraw) {
  const std::vector<ChartSeries> oddities = {
      {},
      {.name = "empty"},
      {.name = "missing", .x = {missing, 1}, .y = {1, missing}},
      {.name = "huge", .x = {-1e308, 1e308}, .y = {1e308, -1e308}},
      {.name = "tiny", .x = {1e-310, 2e-310}, .y = {5e-324, 0}},
      {.name = "wide", .x = {-1e150, 1e150}, .y = {-1e150, 1e-150}},
      {.name = "constant", .x = {2, 2, 2}, .y = {-3, -3, -3}},
      {.name = "narrow", .x = {0, 1}, .y = {1e9, 1e9 + 1e-6}},
      {.name = "dashes", .x = {0, 1e-300, 1}, .y = {0, 1e140, 0}, .reference = true}};
  for (const ChartSeries& oddity : oddities) {
    EXPECT_EQ(drawn({oddity}).pixels.size(), 640U * 480U * 3U) << oddity.name;
    EXPECT_GT(extent_of(drawn({oddity, {.name = "other", .x = {0, 1}, .y = {0, 1}}}), Rgb{38, 38, 38}).pixels,
              50)
        << oddity.name;
  }
  EXPECT_EQ(draw_chart({}).pixels.size(), 960U * 720U * 3U);
}

TEST(DrawChart, CutsWhatIsOutsideOfGivenEnds) {
  Chart chart = chart_of({{.x = {-5, 5}, .y = {0.5, 0.5}}, {.x = {0.5, 0.5}, .y = {-1e140, 1e140}}});
  chart.x.low = chart.y.low = 0;
  chart.x.high = chart.y.high = 1;
  const Image image = draw_chart(chart);
  const Extent flat = extent_of(image, blue), upright = extent_of(image, vermilion);
  EXPECT_GT(flat.left, 30);
  EXPECT_GT(upright.top, 20);
  EXPECT_LT(upright.bottom, 450);
  EXPECT_GT(upright.bottom - upright.top, 350);
  EXPECT_NEAR((flat.left + flat.right) / 2, upright.left, 2);
  EXPECT_NEAR((upright.top + upright.bottom) / 2, flat.top, 2);
  chart.x.low = 900;
  chart.x.high = std::nullopt;
  EXPECT_EQ(extent_of(draw_chart(chart), blue).pixels, 0) << "all of it is on the left of the axis";
}

TEST(DrawChart, GivesEachSeriesAColourAndReferencesNone) {
  const ChartSeries line{.x = {0, 1}, .y = {0, 1}}, other{.x = {0, 1}, .y = {1, 0}};
  ChartSeries reference = line, chosen = other;
  reference.reference = true;
  chosen.colour = 2;
  const Image image = drawn({line, reference, chosen, {.x = {0, 1}, .y = {0.3, 0.4}}});
  EXPECT_GT(extent_of(image, blue).pixels, 300);
  EXPECT_GT(extent_of(image, green).pixels, 300) << "the third of the palette, as chosen";
  EXPECT_GT(extent_of(image, vermilion).pixels, 300) << "the next one, whatever was chosen in between";
}

TEST(DrawChart, PutsTheLegendWhereItHidesLeast) {
  const auto legend_is_at = [](const std::vector<double>& x, const std::vector<double>& y) {
    // A series without points has its colour in the legend alone.
    Chart chart = chart_of({{.x = x, .y = y}, {.name = "legend"}});
    chart.x.low = chart.y.low = 0;
    chart.x.high = chart.y.high = 1;
    const Extent sample = extent_of(draw_chart(chart), vermilion);
    return std::string(sample.left > 320 ? "right, " : "left, ") + (sample.top > 240 ? "bottom" : "top");
  };
  constexpr double near = 0.05, far = 0.95;
  EXPECT_EQ(legend_is_at({near, near, far}, {far, near, near}), "right, top");
  EXPECT_EQ(legend_is_at({near, far, far}, {far, far, near}), "left, bottom");
  EXPECT_EQ(legend_is_at({near, near, far}, {near, far, far}), "right, bottom");
  EXPECT_EQ(legend_is_at({near, far, far}, {near, near, far}), "left, top");
}

TEST(DrawChart, NamesSeriesInTheLegendOnlyWhereTheyHaveOne) {
  const Image named = drawn({{.name = "name"}, {}}), unnamed = drawn({{}, {}});
  EXPECT_GT(extent_of(named, blue).pixels, 10);
  EXPECT_EQ(extent_of(unnamed, blue).pixels, 0);
}

/// Where the two differ.
Extent changes(const Image& one, const Image& other) {
  Extent found;
  for (int row = 0; row < one.height; ++row) {
    for (int column = 0; column < one.width; ++column) {
      if (pixel(one, column, row) == pixel(other, column, row)) continue;
      ++found.pixels;
      found.left = std::min(found.left, column);
      found.right = std::max(found.right, column);
      found.top = std::min(found.top, row);
      found.bottom = std::max(found.bottom, row);
    }
  }
  return found;
}

TEST(DrawChart, WritesALabelAbovePointsAndBesideWhereTheEdgeIsInTheWay) {
  const auto labelled = [](double y, const std::vector<double>& x, std::vector<std::string> labels) {
    ChartSeries dots{.x = x,
                     .y = std::vector<double>(x.size(), y),
                     .way = ChartSeries::Way::none,
                     .mark = ChartSeries::Mark::dot,
                     .labels = std::move(labels)};
    Chart chart = chart_of({dots});
    chart.x.low = chart.y.low = 0;
    chart.x.high = chart.y.high = 1;
    return draw_chart(chart);
  };
  const auto words_of = [&](double y, const std::vector<double>& x, const std::vector<std::string>& labels) {
    return changes(labelled(y, x, labels), labelled(y, x, {}));
  };
  const Extent dot = extent_of(labelled(0.5, {0.5}, {}), blue), above = words_of(0.5, {0.5}, {"123"});
  EXPECT_GT(above.pixels, 30);
  EXPECT_LT(above.bottom, dot.top);
  EXPECT_NEAR((above.left + above.right) / 2, (dot.left + dot.right) / 2, 2);
  const Extent high = extent_of(labelled(1, {0.5}, {}), blue), below = words_of(1, {0.5}, {"123"});
  EXPECT_GT(below.top, high.bottom) << "above it the plot ends";
  // The second of two that are near each other goes out of the way.
  const Extent both = words_of(0.5, {0.5, 0.51}, {"123", "456"});
  EXPECT_GT(both.bottom, dot.bottom);
}

TEST(DrawChart, IsTheSameEveryTime) {
  const ChartSeries wave{
      .name = "w", .x = {0, 1, 2, 3}, .y = {0.1, 3, -2, 0.4}, .mark = ChartSeries::Mark::tick};
  EXPECT_EQ(drawn({wave}).pixels, drawn({wave}).pixels);
}

}  // namespace
}  // namespace larmor
