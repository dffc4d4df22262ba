#include "larmor/draw/count_table.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace larmor {
namespace {

/// How much of the picture has the bluest colour, that of a whole row.
int full_cells_pixels(const Image& image) {
  int count = 0;
  for (std::size_t i = 0; i < image.pixels.size(); i += 3) {
    const bool is_full = image.pixels[i] == 0 && image.pixels[i + 1] == 114 && image.pixels[i + 2] == 178;
    count += is_full ? 1 : 0;
  }
  return count;
}

CountTable yes_and_no(std::vector<int64_t> counts) {
  return {.title = "answers",
          .row_title = "true answer",
          .column_title = "given answer",
          .rows = {"no", "yes"},
          .columns = {"no", "yes"},
          .counts = std::move(counts)};
}

TEST(DrawCountTable, ColoursACellByItsShareOfTheRow) {
  const int none = full_cells_pixels(draw_count_table(yes_and_no({0, 0, 0, 0})));
  const int one = full_cells_pixels(draw_count_table(yes_and_no({5, 5, 0, 9})));
  const int two = full_cells_pixels(draw_count_table(yes_and_no({700, 0, 0, 9})));
  constexpr int cell = 160 * 160;
  EXPECT_LT(none, 100) << "the end of the bar alone";
  EXPECT_GT(one - none, cell / 2);
  EXPECT_LT(one - none, cell);
  EXPECT_NEAR(two - none, 2 * (one - none), cell / 10) << "whatever the row's number";
}

TEST(DrawCountTable, TellsRowsFromColumns) {
  EXPECT_NE(draw_count_table(yes_and_no({1, 2, 0, 3})).pixels,
            draw_count_table(yes_and_no({1, 0, 2, 3})).pixels);
  EXPECT_NE(draw_count_table(yes_and_no({1, 0, 0, 3})).pixels,
            draw_count_table(yes_and_no({2, 0, 0, 3})).pixels)
      << "counts are written";
  EXPECT_EQ(draw_count_table(yes_and_no({1, 2, 0, 3})).pixels,
            draw_count_table(yes_and_no({1, 2, 0, 3})).pixels);
}

TEST(DrawCountTable, HasRoomForManyClassesAndLongNames) {
  CountTable table{
      .title = std::string(300, 't'), .row_title = "true answer", .column_title = "given answer"};
  for (int i = 0; i < 26; ++i) table.rows.push_back("Enlarged Cardiomediastinum " + std::to_string(i));
  table.rows[3] = std::string(500, 'x') + "\n\xff";
  table.columns = table.rows;
  table.counts.assign(26 * 26, 1234);
  const Image image = draw_count_table(table);
  EXPECT_GT(image.width, 26 * 40);
  EXPECT_LT(image.width, 2400);
  EXPECT_LT(image.height, 2000);
  for (const std::size_t side : {1U, 2U}) {
    CountTable small{.rows = std::vector<std::string>(side, "a"),
                     .columns = std::vector<std::string>(side, "b")};
    small.counts.assign(side * side, 0);
    EXPECT_GE(std::min(draw_count_table(small).width, draw_count_table(small).height), 512);
  }
}

}  // namespace
}  // namespace larmor
