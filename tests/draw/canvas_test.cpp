#include "larmor/draw/canvas.h"

#include <cmath>
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

using ::testing::Each;
using ::testing::ElementsAre;

TEST(Canvas, IsWhiteAtFirst) {
  const Canvas canvas(5, 3);
  EXPECT_EQ(canvas.image().pixels.size(), 45U);
  EXPECT_THAT(canvas.image().pixels, Each(255));
  EXPECT_EQ(canvas.ink(canvas.bounds()), 0);
}

TEST(Canvas, DrawsALineOfOnePixelWhereThePixelsAre) {
  Canvas canvas(6, 5);
  canvas.stroke(std::vector<Segment>{{{1, 2}, {4, 2}}}, 1, black);
  EXPECT_THAT(reds_of_row(canvas, 1), Each(255));
  EXPECT_THAT(reds_of_row(canvas, 2), ElementsAre(255, 0, 0, 0, 0, 255));
  EXPECT_THAT(reds_of_row(canvas, 3), Each(255));
  EXPECT_NEAR(canvas.ink(canvas.bounds()), 4, 1e-12);
}

TEST(Canvas, SharesALineBetweenTwoRowsOfPixels) {
  Canvas canvas(6, 5);
  canvas.stroke(std::vector<Segment>{{{-5, 2.5}, {9, 2.5}}}, 1, black);
  EXPECT_THAT(reds_of_row(canvas, 2), Each(128));
  EXPECT_THAT(reds_of_row(canvas, 3), Each(128));
  EXPECT_THAT(reds_of_row(canvas, 4), Each(255));
}

TEST(Canvas, CoversTheGroundOnceWhereStrokesCross) {
  Canvas once(9, 9), twice(9, 9);
  const Segment slanted{{1, 1}, {7, 6}};
  once.stroke(std::vector<Segment>{slanted}, 1.5, {10, 20, 30});
  twice.stroke(std::vector<Segment>{slanted, slanted}, 1.5, {10, 20, 30});
  EXPECT_EQ(once.image().pixels, twice.image().pixels);
}

TEST(Canvas, DrawsADotAsADisc) {
  Canvas canvas(21, 21);
  canvas.stroke(std::vector<Segment>{{{10, 10}, {10, 10}}}, 12, black);
  EXPECT_NEAR(canvas.ink(canvas.bounds()), std::acos(-1) * 36, 1);
  EXPECT_EQ(red_at(canvas, 10, 10), 0);
  EXPECT_EQ(red_at(canvas, 15, 15), 255);
}

TEST(Canvas, CutsStrokesAtTheClipAndAtItsOwnEdge) {
  Canvas canvas(6, 3);
  canvas.stroke(std::vector<Segment>{{{-100, 1}, {100, 1}}}, 1, black,
                {.left = 2, .top = 0, .right = 3, .bottom = 9});
  EXPECT_THAT(reds_of_row(canvas, 1), ElementsAre(255, 255, 0, 0, 255, 255));
  canvas.stroke(std::vector<Segment>{{{-10, -10}, {-20, -20}}}, 3, black);
  canvas.stroke({}, 3, black);
  canvas.stroke(std::vector<Segment>{{{1e300, 1}, {1e301, 1}}, {{-1e300, 1}, {-1e299, 1}}}, 3, black);
  canvas.stroke(std::vector<Segment>{{{0, 0}, {5, 2}}}, 3, black,
                {.left = 7, .top = 0, .right = 9, .bottom = 9});
  EXPECT_NEAR(canvas.ink(canvas.bounds()), 2, 1e-12);
}

TEST(Canvas, FillsWithAnOpacity) {
  Canvas canvas(4, 1);
  canvas.fill({.left = 1, .top = 0, .right = 2, .bottom = 0}, {100, 0, 0}, 0.5);
  EXPECT_THAT(reds_of_row(canvas, 0), ElementsAre(255, 178, 178, 255));
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

TEST(Dashed, CountsOnOverJoints) {
  // 3 on and 2 off along 10 pixels that turn after 4.
  const std::vector<Segment> way = {{{0, 0}, {4, 0}}, {{4, 0}, {4, 6}}};
  const auto dashes = dashed(way, 3, 2);
  ASSERT_EQ(dashes.size(), 2U);
  EXPECT_EQ(dashes[0].to.x, 3);
  EXPECT_EQ(dashes[1].from.y, 1);
  EXPECT_EQ(dashes[1].to.y, 4);
}

TEST(Dashed, GoesOnWithADashThatAJointCuts) {
  const std::vector<Segment> way = {{{0, 0}, {2, 0}}, {{2, 0}, {2, 0}}, {{2, 0}, {9, 0}}};
  double drawn = 0;
  for (const Segment& dash : dashed(way, 3, 2)) drawn += dash.to.x - dash.from.x;
  EXPECT_DOUBLE_EQ(drawn, 3 + 3);
}

}  // namespace
}  // namespace larmor::drawing
