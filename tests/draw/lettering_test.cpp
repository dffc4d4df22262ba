#include "larmor/draw/lettering.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace larmor::drawing {
namespace {

// What a person sees of a letter, as a picture of 12 x 12 pixels.
std::vector<uint8_t> look(char letter) {
  Canvas canvas(12, 12);
  canvas.stroke(lettering(std::string(1, letter), {.x = 2, .y = 8}, 1), 0.9, {0, 0, 0});
  return canvas.image().pixels;
}

TEST(Lettering, HasAllTheLettersADifferentShape) {
  const std::string alphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.,:;-+*/=<>()[]%_'\"!?&#@|^~ ";
  std::set<std::vector<uint8_t>> looks;
  // O and zero differ in width; I, l and 1 in their feet.
  for (const char letter : alphabet) EXPECT_TRUE(looks.insert(look(letter)).second) << letter;
  EXPECT_TRUE(looks.insert(look('\x01')).second) << "a box for what it lacks";
  EXPECT_EQ(look('\x01'), look('{'));
}

TEST(Lettering, JoinsTheSquaresOfALetter) {
  // L: seven squares down, four to the right.
  double longest = 0;
  for (const Segment& stroke : lettering("L", {.x = 10, .y = 20}, 2)) {
    for (const Point& point : {stroke.from, stroke.to}) {
      EXPECT_TRUE(point.x == 10 || point.y == 20);
      EXPECT_GE(point.y, 20 - capital_height * 2);
      longest = std::max(longest, point.x - 10);
    }
  }
  EXPECT_EQ(longest, 2 * text_width("L"));
}

TEST(Lettering, IsAsWideAsItSays) {
  for (const std::string words : {"a", "Kaplan-Meier", "0.25", "ill"}) {
    double right = 0;
    for (const Segment& stroke : lettering(words, {}, 1))
      right = std::max({right, stroke.from.x, stroke.to.x});
    EXPECT_EQ(right, text_width(words)) << words;
  }
  EXPECT_EQ(text_width(""), 0);
  EXPECT_TRUE(lettering("", {}, 1).empty());
}

TEST(Lettering, TurnsToTheLeftToReadUpwards) {
  const auto flat = lettering("risk", {.x = 0, .y = 0}, 1.5);
  const auto upright = lettering("risk", {.x = 0, .y = 0}, 1.5, Direction::up);
  ASSERT_EQ(flat.size(), upright.size());
  for (size_t i = 0; i < flat.size(); ++i) {
    EXPECT_EQ(upright[i].from.y, -flat[i].from.x);
    EXPECT_EQ(upright[i].from.x, flat[i].from.y);
  }
}

}  // namespace
}  // namespace larmor::drawing
