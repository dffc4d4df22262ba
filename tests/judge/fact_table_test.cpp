#include "larmor/judge/fact_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"

#include "tests/support/cases.h"

namespace larmor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FactTables : public ::testing::Test {
 protected:
  FactTable read(const std::string& name, const std::string& content) {
    write_text(*storage_, scratch_.path() / name, content);
    return read_fact_table(scratch_.path() / name);
  }

  const ScratchFolder scratch_;
  const std::unique_ptr<Storage> storage_ = make_storage();
};

TEST_F(FactTables, AreTheRowsOfCsv) {
  const auto table = read("people.csv", "who,sex\n\nann,f\nbob,m\n");
  EXPECT_THAT(table.columns, ElementsAre("who", "sex"));
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[1].place, "line 4");
  EXPECT_THAT(table.rows[1].cells, ElementsAre("bob", "m"));
}

TEST_F(FactTables, AreTheObjectsOfAJsonList) {
  const auto table = read("people.JSON", R"([{"who": "ann", "age": 63}, {"sex": "m", "is_old": true}])");
  EXPECT_THAT(table.columns, ElementsAre("who", "age", "sex", "is_old"));
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_THAT(table.rows[0].cells, ElementsAre("ann", "63", "", ""));
  EXPECT_THAT(table.rows[1].cells, ElementsAre("", "", "m", "true"));
  EXPECT_EQ(table.rows[1].place, "[1]");
}

TEST_F(FactTables, AreTheSectionsOfADataList) {
  const auto table =
      read("list.json", R"({"numTraining": 1, "training": [{"image": ["a.nii", "b.nii"], "age": null}],
                                           "test": ["c.nii", 3, {"image": "d.nii", "box": {"x": 1}}]})");
  EXPECT_THAT(table.columns, ElementsAre("image", "age", "box"));
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_THAT(table.rows[0].cells, ElementsAre("a.nii", "", ""));
  EXPECT_THAT(table.rows[1].cells, ElementsAre("c.nii", "", ""));
  EXPECT_EQ(table.rows[2].place, "test[2]");
}

TEST_F(FactTables, AreRefusedOfJsonThatIsNone) {
  for (const char* content : {"3", "{}", R"({"a": [1, 2]})", "[]"}) {
    const auto error = error_of([&] { read("people.json", content); });
    ASSERT_TRUE(error) << content;
    EXPECT_EQ(error->exit(), Exit::data);
    EXPECT_THAT(error->message(), HasSubstr("people.json holds no list of objects"));
  }
}

}  // namespace
}  // namespace larmor::testing
