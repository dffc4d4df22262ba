#include "larmor/draw/typeface.h"

#include <cstdlib>
#include <string>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "larmor/draw/canvas.h"
#include "larmor/draw/font_file.h"

namespace larmor::drawing {
namespace {

TEST(FontFile, IsATrueTypeFontThatTheProgramHolds) {
  const auto bytes = font_file();
  ASSERT_GT(bytes.size(), 300000U);
  EXPECT_EQ(bytes[0], 0);
  EXPECT_EQ(bytes[1], 1) << "the version of a TrueType file, 1.0";
}

TEST(Typeface, ShowsUmlautsAndGreekWithoutTheBoxOfAMissingLetter) {
  const auto look = [](std::string_view letter) {
    Canvas canvas(40, 40);
    canvas.write(letter, {.x = 5, .y = 30}, 24, {0, 0, 0});
    return canvas.image().pixels;
  };
  // U+10FFFD is for private use: no font has a letter for it.
  const auto missing = look("\xF4\x8F\xBF\xBD");
  for (const char* const letter : {"a", "Z", "7", "|", "ö", "µ", "³", "≤", "−", "Δ"})
    EXPECT_NE(look(letter), missing) << letter;
}

TEST(Typeface, IsReleasedAndMadeAgain) {
  for (int i = 0; i < 50; ++i) EXPECT_NE(make_typeface(), nullptr);
}

// In a process of its own: whether the machine's fonts are looked for is a matter of the first letter.
TEST(TypefaceDeathTest, NeedsNoFontsOfTheMachine) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("FONTCONFIG_FILE", "/no/fonts.conf", 1);
        setenv("FONTCONFIG_PATH", "/no/folder", 1);
        Canvas canvas(100, 40);
        canvas.write("letters", {.x = 5, .y = 30}, 20, {0, 0, 0});
        // FcConfigGetCurrent() would begin; FcInitialized has begun where there is a configuration.
        std::exit(canvas.ink(canvas.bounds()) > 100 ? 7 : 1);
      },
      ::testing::ExitedWithCode(7), "^$");
}

}  // namespace
}  // namespace larmor::drawing
