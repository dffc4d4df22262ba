#include "larmor/draw/canvas.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace larmor::drawing {
namespace {

constexpr Colour black{0, 0, 0};

int red_at(const Canvas& canvas, int column, int row) {
  return canvas.image().pixels[static_cast<size_t>((row * canvas.image().width + column) * 3)];
}

std::vector<int> reds_of_row(const Canvas& canvas, int row) {
  std::vector<int> reds;
  for (int column = 0; column < canvas.image().width; ++column) reds.push_back(red_at(canvas, column, row));
  return reds;
}

using ::testing::_;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::Le;
using ::testing::Lt;

TEST(Canvas, IsWhiteAtFirst) {
  const Canvas canvas(5, 3);
  EXPECT_EQ(canvas.image().pixels.size(), 45U);
  EXPECT_THAT(canvas.image().pixels, Each(255));
  EXPECT_EQ(canvas.ink(canvas.bounds()), 0);
}

TEST(Canvas, DrawsALineOfOnePixelWhereThePixelsAre) {
  Canvas canvas(6, 5);
  canvas.stroke(std::vector<Segment>{{{1.5, 2.5}, {4.5, 2.5}}}, {.thickness = 1, .colour = black});
  EXPECT_THAT(reds_of_row(canvas, 1), Each(255));
  EXPECT_THAT(reds_of_row(canvas, 3), Each(255));
  EXPECT_THAT(reds_of_row(canvas, 2), ElementsAre(255, Lt(180), 0, 0, Lt(180), 255));
  EXPECT_NEAR(canvas.ink(canvas.bounds()), 3 + std::acos(-1) / 4, 0.1);
}

TEST(Canvas, SharesALineBetweenTwoRowsOfPixels) {
  Canvas canvas(6, 5);
  canvas.stroke(std::vector<Segment>{{{-5, 3}, {9, 3}}}, {.thickness = 1, .colour = black});
  EXPECT_THAT(reds_of_row(canvas, 2), Each(AllOf(Ge(118), Le(137))));
  EXPECT_THAT(reds_of_row(canvas, 3), Each(AllOf(Ge(118), Le(137))));
  EXPECT_THAT(reds_of_row(canvas, 4), Each(255));
}

TEST(Canvas, DrawsADotAsADisc) {
  Canvas canvas(21, 21);
  canvas.stroke(std::vector<Segment>{{{10.5, 10.5}, {10.5, 10.5}}}, {.thickness = 12, .colour = black});
  EXPECT_NEAR(canvas.ink(canvas.bounds()), std::acos(-1) * 36, 1);
  EXPECT_EQ(red_at(canvas, 10, 10), 0);
  EXPECT_EQ(red_at(canvas, 15, 15), 255);
}

TEST(Canvas, CutsStrokesAtTheClipAndAtItsOwnEdge) {
  Canvas canvas(6, 3);
  const Pen fine{.thickness = 1, .colour = black}, thick{.thickness = 3, .colour = black};
  canvas.stroke(std::vector<Segment>{{{-1e300, 1.5}, {1e300, 1.5}}}, fine,
                {.left = 2, .top = 0, .right = 4, .bottom = 9});
  EXPECT_THAT(reds_of_row(canvas, 1), ElementsAre(255, 255, 0, 0, 255, 255));
  canvas.stroke(std::vector<Segment>{{{-10, -10}, {-20, -20}}}, thick);
  canvas.stroke({}, thick);
  canvas.stroke(std::vector<Segment>{{{1e300, 1}, {1e301, 1}}, {{-1e300, 1}, {-1e299, 1}}}, thick);
  canvas.stroke(std::vector<Segment>{{{0, 0}, {5, 2}}}, thick,
                {.left = 7, .top = 0, .right = 9, .bottom = 9});
  EXPECT_NEAR(canvas.ink(canvas.bounds()), 2, 1e-12);
}

TEST(Canvas, CountsDashesOnOverJoints) {
  // 3 on and 2 off along 20 pixels of two segments, of which the first ends within a gap.
  Canvas canvas(22, 3);
  canvas.stroke(std::vector<Segment>{{{1, 1.5}, {5, 1.5}}, {{5, 1.5}, {21, 1.5}}},
                {.thickness = 1, .colour = black, .dash = 3, .gap = 2});
  for (int column = 1; column < 21; ++column)
    EXPECT_EQ(red_at(canvas, column, 1), (column - 1) % 5 < 3 ? 0 : 255) << column;
}

TEST(Canvas, FillsWithAnOpacity) {
  Canvas canvas(4, 1);
  canvas.fill({.left = 1, .top = 0, .right = 3, .bottom = 1}, {100, 0, 0}, 0.5);
  EXPECT_THAT(reds_of_row(canvas, 0),
              ElementsAre(255, AllOf(Ge(177), Le(178)), AllOf(Ge(177), Le(178)), 255));
}

TEST(Canvas, EnlargesAPictureSmoothlyBetweenTheCentresOfItsPixels) {
  Canvas canvas(8, 4);
  canvas.paste({.width = 2, .height = 1, .channels = 1, .pixels = {0, 200}},
               {.left = 0, .top = 0, .right = 8, .bottom = 4});
  const auto reds = reds_of_row(canvas, 2);
  EXPECT_THAT(reds, ElementsAre(0, 0, _, _, _, _, 200, 200)) << "outside of the centres: the border values";
  for (std::size_t i = 2; i < 6; ++i) EXPECT_NEAR(reds[i], 200 * (static_cast<double>(i) - 1.5) / 4, 3) << i;
}

TEST(Canvas, MakesALargePictureSmallerByAverages) {
  Image stripes{.width = 64, .height = 64, .channels = 1, .pixels = {}};
  for (int i = 0; i < 64 * 64; ++i) stripes.pixels.push_back(i % 2 == 0 ? 0 : 200);
  Canvas canvas(8, 8);
  canvas.paste(stripes, canvas.bounds());
  EXPECT_THAT(reds_of_row(canvas, 4), Each(AllOf(Ge(85), Le(115))));
}

TEST(Canvas, PutsLettersWhereItIsTold) {
  Canvas canvas(200, 60);
  const double width = canvas.text_width("Größe", 20);
  canvas.write("Größe", {.x = 50, .y = 40}, 20, black);
  const Box words{.left = 50, .top = 20, .right = 50 + width, .bottom = 46};
  EXPECT_GT(canvas.ink(words), 100);
  EXPECT_NEAR(canvas.ink(words), canvas.ink(canvas.bounds()), 1e-9) << "nothing beside them";
  EXPECT_GT(width, 45);
  EXPECT_LT(width, 75);
  EXPECT_NEAR(canvas.text_width("Größe", 40), 2 * width, 1e-3) << "no hints of a screen";
}

TEST(Canvas, TurnsWordsToReadUpwards) {
  Canvas flat(100, 100), upright(100, 100);
  flat.write("risk", {.x = 20, .y = 80}, 20, black);
  upright.write("risk", {.x = 80, .y = 80}, 20, black, Direction::up);
  const double length = flat.text_width("risk", 20);
  EXPECT_NEAR(flat.ink(flat.bounds()), upright.ink(upright.bounds()), 2);
  EXPECT_NEAR(upright.ink({.left = 55, .top = 80 - length, .right = 86, .bottom = 80}),
              upright.ink(upright.bounds()), 1e-9);
}

TEST(Canvas, WritesForeignTextEscaped) {
  const auto written = [](std::string_view words) {
    Canvas canvas(200, 40);
    canvas.write(words, {.x = 5, .y = 30}, 16, black);
    return canvas.image().pixels;
  };
  EXPECT_EQ(written("case \xff"), written("case \\xff")) << "a byte that is no UTF-8";
  EXPECT_EQ(written("case\n7"), written("case\\n7"));
  EXPECT_NE(written("case 7"), written("case 8"));
}

TEST(Canvas, WritesOnAPictureSoThatItIsReadOnWhiteAndOnBlack) {
  for (const uint8_t grey : {uint8_t{0}, uint8_t{128}, uint8_t{255}}) {
    Canvas canvas(30, 30);
    canvas.fill(canvas.bounds(), {grey, grey, grey});
    canvas.write_on_picture("R", {.x = 8, .y = 24}, 18);
    const auto pixels = canvas.image().pixels;
    EXPECT_GT(std::ranges::max(pixels) - std::ranges::min(pixels), 120) << int{grey};
  }
}

TEST(Clipped, KeepsThePartInside) {
  const Box box{.left = 0, .top = 0, .right = 10, .bottom = 10};
  const auto part = clipped({{-10, 5}, {30, 5}}, box);
  ASSERT_EQ(part.size(), 1U);
  EXPECT_EQ(part[0].from.x, 0);
  EXPECT_EQ(part[0].to.x, 10);
  EXPECT_EQ(clipped({{2, 3}, {4, 5}}, box)[0].to.y, 5);
  EXPECT_TRUE(clipped({{-5, 8}, {3, 20}}, box).empty()) << "it passes the corner";
  EXPECT_TRUE(clipped({{11, 2}, {11, 4}}, box).empty());
  // A value far outside: the part inside is upright.
  const auto steep = clipped({{2, 5}, {3, 1e200}}, box);
  ASSERT_EQ(steep.size(), 1U);
  EXPECT_NEAR(steep[0].to.y, 10, 1e-9);
  EXPECT_NEAR(steep[0].to.x, 2, 1e-9);
  const auto through = clipped({{3, -1e140}, {3, 1e140}}, box);
  ASSERT_EQ(through.size(), 1U);
  EXPECT_EQ(through[0].from.y, 0);
  EXPECT_EQ(through[0].to.y, 10);
}

}  // namespace
}  // namespace larmor::drawing
