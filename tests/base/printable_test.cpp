#include "larmor/base/printable.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/json.h"
#include "larmor/base/seed.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

// Said in bytes, and not by the decoder that is tested.
bool moves_a_terminal(std::string_view shown) {
  for (size_t i = 0; i < shown.size(); ++i) {
    const auto byte = static_cast<unsigned char>(shown[i]);
    if (byte < 0x20 || byte == 0x7f) return true;
    if (byte == 0xc2 && static_cast<unsigned char>(shown[i + 1]) < 0xa0) return true;  // C1
  }
  return false;
}

TEST(Printable, LeavesTextOfAnyLanguageAsItIs) {
  for (const std::string_view words :
       {"", "head.nii.gz", "Äpfel – 1 × 2 …", "脳の画像", "مخ", "🧠", "C:\\n", "\xc2\xa0"})
    EXPECT_EQ(printable(words), words);
}

TEST(Printable, EscapesWhatMovesTheCursorOrTurnsTheText) {
  EXPECT_EQ(printable("a\nb\r\tc"), "a\\nb\\r\\tc");
  EXPECT_EQ(printable("\x1b]0;title\x07"), "\\u001b]0;title\\u0007");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\u0000");
  EXPECT_EQ(printable("\x7f"), "\\u007f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\u009b31m");  // CSI in one character
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "cod.nii"),
            "\\u202ecod.nii");                                         // right to left
  EXPECT_EQ(printable("\xe2\x81\xa6\xe2\x80\xa8"), "\\u2066\\u2028");  // isolate, line separator
}

TEST(Printable, ShowsBytesThatAreNoUtf8) {
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("\x9b"), "\\x9b");           // C1 of Latin-1
  EXPECT_EQ(printable("\xc3"), "\\xc3");           // cut
  EXPECT_EQ(printable("\xc0\x8a"), "\\xc0\\x8a");  // a line break, too long
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

TEST(Printable, IsTheSameAgain) {
  Draws draws(make_key(25, 0, 0, "printable"));
  for (int round = 0; round < 2000; ++round) {
    std::string foreign;
    for (int i = 0; i < 12; ++i) foreign += static_cast<char>(draws.below(256));
    const std::string once = printable(foreign);
    EXPECT_FALSE(moves_a_terminal(once));
    EXPECT_EQ(printable(once), once);
  }
}

TEST(Printable, KeepsJsonTheSameJson) {
  const Json value = {{"path", "a\n\x1b\x7f\xc2\x85\xe2\x80\xae\\ \"ü"}};
  const std::string shown = printable(value.dump());
  EXPECT_FALSE(moves_a_terminal(shown));
  EXPECT_EQ(parse_json(shown, "shown"), value);
}

TEST(Bounded, KeepsTheBeginningAndTheEnd) {
  EXPECT_EQ(bounded("short", 100), "short");
  const std::string shown = bounded(text("begin", std::string(100'000, 'x'), "end"));
  EXPECT_LT(shown.size(), longest_line + 100);
  EXPECT_TRUE(shown.starts_with("begin"));
  EXPECT_TRUE(shown.ends_with("end"));
  EXPECT_NE(shown.find(text("(", 100'008 - longest_line, " bytes left out)")), std::string::npos);
}

TEST(Bounded, CutsNoCharacter) {
  std::string word;
  for (int i = 0; i < 100; ++i) word += "é";
  for (size_t most = 40; most < 60; ++most) {
    const std::string shown = bounded(word, most);
    EXPECT_EQ(printable(shown), shown) << most;
  }
}

TEST(Item, IsALineOfAMessageThatNothingForeignCanBegin) {
  EXPECT_EQ(bounded(text("two files:", item("a\nb"), item("c"))), "two files:\n  a\\nb\n  c");
  EXPECT_EQ(bounded("a\n  b\x1e\n\x1e"), "a\\n  b\\u001e\\n\\u001e");
  const std::vector<std::string> words{"a", "b", "c"};
  EXPECT_EQ(bounded(items(words, 1)), "\n  a\n  and 2 more");
  const std::vector<std::string> many(most_items + 5, "x");
  EXPECT_LT(bounded(items(many, many.size())).size(), 4 * most_items + 20);
}

TEST(Item, StaysOneWhenItsMessageIsPutBehindOtherWords) {
  const std::string shown = bounded(text("two:", item("a"), item("b")));
  EXPECT_EQ(bounded("where: " + with_items_again(shown)), "where: two:\n  a\n  b");
}

TEST(Lines, BreakWhereLarmorBreaksThemAlone) {
  Lines lines;
  lines.add("name\nlarmor: all is well").add_text("a\nb\n").add_text("c\rd", "  | ").add_text("");
  EXPECT_EQ(lines.shown(), "name\\nlarmor: all is well\na\nb\n  | c\\rd\n");
  EXPECT_FALSE(lines.empty());
  EXPECT_TRUE(Lines().empty());
}

}  // namespace
}  // namespace larmor
