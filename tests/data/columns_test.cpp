#include "larmor/data/columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;

const WantedColumn question{"question", "what is asked", {"question", "questiontext", "ask*"}};

CsvTable table_of(const std::string& header) { return parse_csv(header + "\n", "t.csv"); }

int64_t find(const std::string& header, const std::string& asked = "auto", bool is_needed = true) {
  return find_column(table_of(header), question, asked, is_needed, "t.csv");
}

TEST(Columns, AreFoundWithoutRegardToCaseBlanksAndDashes) {
  EXPECT_EQ(find("id,Question-Text,x"), 1);
  EXPECT_EQ(find("id,x,Asked of"), 2) << "a name with a star may go on";
  EXPECT_EQ(find("question_text,question"), 1) << "the likeliest name comes first";
}

TEST(Columns, AreTakenAsAPersonSays) { EXPECT_EQ(find("question,other", "other"), 1); }

TEST(Columns, MayBeMissingWhereTheyAreNotNeeded) {
  EXPECT_EQ(find("id,x", "auto", /*is_needed=*/false), no_column);
  EXPECT_THROW(find("id,x"), Error);
  EXPECT_THROW(find("id,x", "named", /*is_needed=*/false), Error) << "one that is named has to be there";
}

TEST(Columns, InDoubtAreAskedFor) {
  try {
    find("question,Question");
    FAIL() << "one of two was taken";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("could each be what is asked"));
    EXPECT_THAT(error.hint(), HasSubstr("data.columns.question="));
  }
}

}  // namespace
}  // namespace larmor
