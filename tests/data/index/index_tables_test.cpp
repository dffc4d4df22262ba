// What an index says of tables whose rows are its examples.
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/data/index/index.h"

namespace larmor {
namespace {

Index index_with_table(const std::string& sha256) {
  Index index;
  index.kind = "list";
  index.cases.push_back({.files = {{"image", "a.png"}}, .patient = "a", .label = {}});
  index.tables.push_back(
      {.name = "questions", .file = "/cache/questions.json", .rows = 31, .sha256 = sha256});
  return index;
}

TEST(IndexTables, ArePartOfTheHashByTheirOwn) {
  EXPECT_NE(index_with_table("aa").sha256(), index_with_table("bb").sha256());
  Index moved = index_with_table("aa");
  moved.tables.front().file = "/elsewhere/questions.json";
  EXPECT_EQ(moved.sha256(), index_with_table("aa").sha256());
  Index without = index_with_table("aa");
  without.tables.clear();
  EXPECT_NE(without.sha256(), index_with_table("aa").sha256());
}

TEST(IndexTables, AreWrittenAndReadWithTheIndex) {
  const Index index = index_with_table("aa");
  EXPECT_EQ(index_from_json(to_json(index)).tables, index.tables);
  EXPECT_EQ(index.table("questions").rows, 31);
  EXPECT_THROW(index.table("answers"), Error);
}

TEST(IndexTables, AnIndexWhoseTableWasExchangedIsRefused) {
  Json json = to_json(index_with_table("aa"));
  json["tables"][0]["sha256"] = "bb";
  EXPECT_THROW(index_from_json(json), Error);
}

}  // namespace
}  // namespace larmor
