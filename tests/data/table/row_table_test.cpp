#include "larmor/data/table/row_table.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/data/table/table_writer.h"

#include "tests/support/cases.h"
#include "tests/support/image_files.h"

namespace larmor {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

std::vector<TableColumn> all_columns() {
  return {{"small", ColumnType::int8},  {"short", ColumnType::int16},   {"middle", ColumnType::int32},
          {"large", ColumnType::int64}, {"share", ColumnType::float32}, {"words", ColumnType::text}};
}

class RowTables : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, int64_t rows) {
    TableWriter writer(storage_, scratch_.path() / name, all_columns());
    for (int64_t row = 0; row < rows; ++row) {
      writer.set(0, -row % 100);
      writer.set(1, 300 + row);
      writer.set(2, -70'000 - row);
      writer.set(3, (int64_t{1} << 40) + row);
      writer.set(4, static_cast<float>(row) / 4);
      if (row % 3 != 0) writer.set(5, std::string("row ") + std::to_string(row % 7));
      writer.end_row();
    }
    writer.finish();
    return scratch_.path() / name;
  }

  std::string refusal(const std::filesystem::path& file) {
    try {
      RowTable table(file);
      table.verify();
      for (int64_t row = 0; row < table.rows(); ++row) table.row(row).text(5);
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::data);
      return error.message();
    }
    return "not refused";
  }

  ScratchFolder scratch_;
  DiskStorage storage_;
};

TEST_F(RowTables, GiveBackWhatWasWritten) {
  const RowTable table(write("a.table", 500));
  ASSERT_EQ(table.rows(), 500);
  EXPECT_EQ(table.columns(), all_columns());
  for (int64_t row = 0; row < 500; row += 7) {
    EXPECT_EQ(table.row(row).integer(0), -row % 100);
    EXPECT_EQ(table.row(row).integer(table.column("short")), 300 + row);
    EXPECT_EQ(table.row(row).integer(2), -70'000 - row);
    EXPECT_EQ(table.row(row).integer(3), (int64_t{1} << 40) + row);
    EXPECT_EQ(table.row(row).number(4), static_cast<float>(row) / 4);
    EXPECT_EQ(table.row(row).text(5), row % 3 == 0 ? "" : "row " + std::to_string(row % 7));
  }
  table.verify();
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch_.path()), {}), 1)
      << "no temporary file";
}

TEST_F(RowTables, ATextThatComesAgainIsWrittenOnce) {
  TableWriter writer(storage_, scratch_.path() / "b.table", {{"words", ColumnType::text}});
  for (int i = 0; i < 10'000; ++i) {
    writer.set(0, std::string_view("Is there a pleural effusion?"));
    writer.end_row();
  }
  writer.finish();
  EXPECT_LT(std::filesystem::file_size(scratch_.path() / "b.table"), 81'000u);
}

TEST_F(RowTables, EqualContentsHaveEqualHashes) {
  const RowTable a(write("a.table", 20)), b(write("b.table", 20)), c(write("c.table", 21));
  EXPECT_EQ(a.sha256(), b.sha256());
  EXPECT_NE(a.sha256(), c.sha256());
}

TEST_F(RowTables, AnEmptyTableIsATable) { EXPECT_EQ(RowTable(write("a.table", 0)).rows(), 0); }

TEST_F(RowTables, RefuseColumnsThatAreNotThere) {
  const RowTable table(write("a.table", 1));
  try {
    table.column("answer");
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("small, short, middle, large, share, words"));
  }
}

TEST_F(RowTables, RefuseFilesThatWereCutWhereverThatIs) {
  const auto file = write("a.table", 50);
  const std::string whole = read_text(file);
  for (std::size_t size = 0; size < whole.size(); size += size < 200 ? 1 : 97) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << whole.substr(0, size);
    EXPECT_THAT(refusal(file), HasSubstr("damaged")) << size;
  }
}

TEST_F(RowTables, NoticeEveryByteThatChanged) {
  const auto file = write("a.table", 10);
  const std::string whole = read_text(file);
  for (std::size_t place = 0; place < whole.size(); place += 3) {
    std::string changed = whole;
    changed[place] = static_cast<char>(changed[place] ^ 0x41);
    std::ofstream(file, std::ios::binary | std::ios::trunc) << changed;
    EXPECT_NE(refusal(file), "not refused") << place;
  }
}

// What a disk or another program changes inside a part, behind a footer that is whole.
TEST_F(RowTables, NoticeARowThatChangedWhenItIsRead) {
  const auto file = write("a.table", 20'000);
  const std::string whole = read_text(file);
  for (const int64_t row : {0, 9'999, 15'000}) {
    const std::string value = testing::published((int64_t{1} << 40) + row);
    std::string changed = whole;
    changed[changed.find(value)] ^= 1;
    std::ofstream(file, std::ios::binary | std::ios::trunc) << changed;
    const RowTable table(file);
    EXPECT_THAT(error_of([&] { table.row(row); })->message(), HasSubstr("not those that were written"))
        << row;
    EXPECT_EQ(table.row(5'000).integer(3), (int64_t{1} << 40) + 5'000) << "other blocks are read";
    EXPECT_TRUE(error_of([&] { table.verify(); }));
  }
}

TEST_F(RowTables, AreWrittenAnewWhereAPartThatIsDoneWasChanged) {
  TableBuild build(storage_, scratch_.path() / "questions", "questions", all_columns());
  TableWriter writer = build.begin("p0");
  writer.set(3, int64_t{7} << 40);
  writer.end_row();
  build.finish("p0", "stamp", writer, Json(1));
  EXPECT_EQ(build.noted("p0", "stamp"), Json(1));
  const auto file = scratch_.path() / "questions" / "p0.table";
  std::string bytes = read_text(file);
  bytes[bytes.find(testing::published(int64_t{7} << 40))] ^= 1;
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  EXPECT_EQ(build.noted("p0", "stamp"), Json());
}

TEST_F(RowTables, HaveTheirPartsBesideTheirList) {
  TableBuild build(storage_, scratch_.path() / "questions", "questions", all_columns());
  TableWriter writer = build.begin("p0");
  build.finish("p0", "stamp", writer, Json(1));
  const auto list = build.finish({"p0"}).file;
  const std::string words = read_text(list);
  for (const std::string& name : {(scratch_.path() / "questions" / "p0.table").string(),
                                  std::string("../questions/p0.table"), std::string("..")}) {
    std::string other = words;
    other.replace(other.find("p0.table"), 8, name);
    std::ofstream(list, std::ios::binary | std::ios::trunc) << other;
    EXPECT_THAT(refusal(list), HasSubstr("does not lie beside it")) << name;
  }
}

TEST_F(RowTables, OfSeveralPartsCountThrough) {
  TableBuild build(storage_, scratch_.path() / "questions", "questions", all_columns());
  for (const int64_t part : {0, 1, 2}) {
    TableWriter writer = build.begin("p" + std::to_string(part));
    for (int64_t row = 0; row < part * 3 + 1; ++row) {
      writer.set(3, part * 100 + row);
      writer.end_row();
    }
    build.finish("p" + std::to_string(part), "stamp", writer, Json(part));
  }
  const IndexedTable made = build.finish({"p0", "p1", "p2"});
  const RowTable table(made.file);
  EXPECT_EQ(made.rows, 1 + 4 + 7);
  ASSERT_EQ(table.rows(), 12);
  EXPECT_EQ(table.sha256(), made.sha256);
  EXPECT_EQ(table.row(0).integer(3), 0);
  EXPECT_EQ(table.row(1).integer(3), 100);
  EXPECT_EQ(table.row(4).integer(3), 103);
  EXPECT_EQ(table.row(5).integer(3), 200);
  EXPECT_EQ(table.row(11).integer(3), 206);
  table.verify();
}

}  // namespace
}  // namespace larmor
