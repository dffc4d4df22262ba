#include "larmor/base/table.h"

#include <gtest/gtest.h>

namespace larmor {
namespace {

TEST(Table, LinesUpItsColumnsWhateverTheirLetters) {
  Table table;
  table.add({"2 × 3", "six"});
  table.add({"plain", "a long last cell widens nothing"});
  table.add({"1", "2", "3"});
  EXPECT_EQ(table.to_text(1), " 2 × 3  six\n plain  a long last cell widens nothing\n 1      2  3\n");
}

TEST(Table, BreaksNoRowForWhatACellHolds) {
  Table table;
  table.add({"host\nrank", "b\x1b[2J"});
  EXPECT_EQ(table.to_text(0), "host\\nrank  b\\u001b[2J\n");
}

}  // namespace
}  // namespace larmor
