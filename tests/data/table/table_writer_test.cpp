#include "larmor/data/table/table_writer.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"

namespace larmor {
namespace {

const std::vector<TableColumn> one_column = {{"number", ColumnType::int64}};

void write_part(TableBuild& build, const std::string& part, const std::string& stamp, int64_t value) {
  TableWriter writer = build.begin(part);
  writer.set(0, value);
  writer.end_row();
  build.finish(part, stamp, writer, Json({{"value", value}}));
}

class TableBuilds : public ::testing::Test {
 protected:
  TableBuild build() { return TableBuild(storage_, folder(), "numbers", one_column); }
  std::filesystem::path folder() const { return scratch_.path() / "numbers"; }

  ScratchFolder scratch_;
  DiskStorage storage_;
};

TEST_F(TableBuilds, KeepThePartsThatAreDone) {
  {
    TableBuild first = build();
    EXPECT_TRUE(first.noted("a", "source 1").is_null());
    write_part(first, "a", "source 1", 7);
  }
  TableBuild second = build();
  EXPECT_EQ(second.noted("a", "source 1").at("value"), 7);
  EXPECT_TRUE(second.noted("a", "source 2").is_null());
  EXPECT_TRUE(second.noted("b", "source 1").is_null());
}

TEST_F(TableBuilds, APartThatWasInterruptedIsWrittenAgain) {
  for (const char* const fault : {"write", "sync", "close", "rename", "table.written", "create"}) {
    FaultyStorage faulty([&](const FaultyStorage::Operation& operation) {
      if (operation.name == fault) fail(Exit::environment, "no more room");
    });
    TableBuild broken(faulty, folder(), "numbers", one_column);
    EXPECT_THROW(write_part(broken, "a", "source", 1), Error) << fault;
    TableBuild after = build();
    EXPECT_TRUE(after.noted("a", "source").is_null()) << fault;
  }
  TableBuild after = build();
  write_part(after, "a", "source", 2);
  EXPECT_EQ(RowTable(after.finish({"a"}).file).row(0).integer(0), 2);
}

TEST_F(TableBuilds, APartThatWasCutSinceIsWrittenAgain) {
  TableBuild first = build();
  write_part(first, "a", "source", 1);
  std::filesystem::resize_file(folder() / "a.table", 100);
  EXPECT_TRUE(build().noted("a", "source").is_null());
}

TEST_F(TableBuilds, OfOtherColumnsAreNotTaken) {
  TableBuild first = build();
  write_part(first, "a", "source", 1);
  TableBuild other(storage_, folder(), "numbers", {{"number", ColumnType::int32}});
  EXPECT_TRUE(other.noted("a", "source").is_null());
}

TEST_F(TableBuilds, TakeAwayWhatTheTableDoesNotHave) {
  TableBuild first = build();
  write_part(first, "a", "source", 1);
  write_part(first, "old", "source", 2);
  std::ofstream(folder() / ".b.table.partial-0123456789abcdef") << "half";
  const IndexedTable made = first.finish({"a"});
  EXPECT_FALSE(std::filesystem::exists(folder() / "old.table"));
  EXPECT_FALSE(std::filesystem::exists(folder() / ".b.table.partial-0123456789abcdef"));
  EXPECT_EQ(RowTable(made.file).rows(), 1);
}

TEST_F(TableBuilds, LeaveWhatOthersHavePutThere) {
  const std::filesystem::path outside = scratch_.path() / "outside";
  std::filesystem::create_directories(outside / "mine.table");
  std::filesystem::create_directories(folder() / "mine.table");
  std::ofstream(outside / "mine.table" / "work") << "of years";
  std::ofstream(folder() / "mine.table" / "work") << "of years";
  for (const char* const name : {"notes.txt", "my.table", "my.note", ".hidden"})
    std::ofstream(folder() / name) << "a word";
  std::filesystem::create_symlink(outside, folder() / "link.table");
  std::filesystem::create_symlink(outside / "mine.table" / "work", folder() / "link.note");
  TableBuild first = build();
  write_part(first, "a", "source", 1);
  write_part(first, "old", "source", 2);
  first.finish({"a"});
  EXPECT_FALSE(std::filesystem::exists(folder() / "old.table"));
  EXPECT_FALSE(std::filesystem::exists(folder() / "old.note"));
  for (const char* const name : {"mine.table/work", "notes.txt", "my.table", "my.note", ".hidden",
                                 "link.table/mine.table/work", "link.note"})
    EXPECT_TRUE(std::filesystem::exists(folder() / name)) << name;
}

TEST_F(TableBuilds, AnExchangedPartIsNoticedWhenTheTableIsOpened) {
  TableBuild first = build();
  write_part(first, "a", "source", 1);
  const IndexedTable made = first.finish({"a"});
  write_part(first, "a", "other", 9);
  EXPECT_THROW(RowTable(made.file), Error);
}

TEST_F(TableBuilds, RefuseATextThatIsTooLong) {
  TableWriter writer(storage_, scratch_.path() / "a.table", {{"words", ColumnType::text}});
  EXPECT_THROW(writer.set(0, std::string(std::size_t{1} << 24, 'x')), Error);
}

}  // namespace
}  // namespace larmor
