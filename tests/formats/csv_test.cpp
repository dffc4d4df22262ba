#include "larmor/formats/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

#include "tests/support/cases.h"

namespace larmor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

TEST(ParseCsv, ReadsQuotesBlanksAndWindowsLines) {
  const CsvTable table = parse_csv(
      "\xEF\xBB\xBFimage, label ,note\r\n"
      "a.nii,1,\"one, \"\"two\"\"\nthree\"\r\n"
      "\r\n"
      " b.nii ,, \"x\" \r\n",
      "list.csv");
  EXPECT_THAT(table.columns, ElementsAre("image", "label", "note"));
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_THAT(table.rows[0].cells, ElementsAre("a.nii", "1", "one, \"two\"\nthree"));
  EXPECT_THAT(table.rows[1].cells, ElementsAre("b.nii", "", "x"));
  EXPECT_EQ(table.rows[0].line, 2);
  EXPECT_EQ(table.rows[1].line, 5);
}

TEST(ParseCsv, TakesSemicolonsAndTabs) {
  EXPECT_THAT(parse_csv("a;b\n1,5;2", "x").rows[0].cells, ElementsAre("1,5", "2"));
  EXPECT_THAT(parse_csv("a\tb\n1\t2\n", "x").rows[0].cells, ElementsAre("1", "2"));
}

TEST(ParseCsv, FindsColumns) {
  const CsvTable table = parse_csv(",image\n0,a.nii\n", "x");
  EXPECT_EQ(table.find("image"), 1);
  EXPECT_EQ(table.find("label"), -1);
}

TEST(ParseCsv, NamesTheLineOfAFault) {
  const auto message = [](const char* source) {
    const auto error = error_of([&] { parse_csv(source, "list.csv"); });
    EXPECT_TRUE(error && error->exit() == Exit::data) << source;
    return error ? error->message() : "";
  };
  EXPECT_THAT(message("a,b\n1,2\n1,2,3\n"), HasSubstr("list.csv:3: 3 cells, but there are 2 columns"));
  EXPECT_THAT(message("a,b\n1,\"2\n\n"), HasSubstr("list.csv:2: a quote"));
  EXPECT_THAT(message("a,a\n"), HasSubstr("list.csv:1: the column a is there twice"));
  EXPECT_THAT(message("a,b\n\"1\"x,2\n"), HasSubstr("list.csv:2: text behind"));
  EXPECT_THAT(message("\n\n"), HasSubstr("list.csv:1"));
}

TEST(ParseCsv, TakesTheSeparatorThatTheFirstLineSays) {
  for (const char* first : {"sep=;\n", "sep=;\r\n", "SEP=;\n"}) {
    const CsvTable table = parse_csv(std::string(first) + "a;b,c\n1;2\n", "x");
    EXPECT_THAT(table.columns, ElementsAre("a", "b,c")) << first;
    EXPECT_THAT(table.rows.at(0).cells, ElementsAre("1", "2"));
    EXPECT_EQ(table.rows.at(0).line, 3);
  }
  EXPECT_THAT(parse_csv("sep=,x\n1,2\n", "x").columns, ElementsAre("sep=", "x")) << "a column's name";
}

TEST(ParseCsv, SaysWhatIsNoTextOrInAnotherEncoding) {
  const auto refused = [](const std::string& source) {
    const auto error = error_of([&] { parse_csv(source, "list.csv"); });
    return error ? error->message() + " / " + error->hint() : "";
  };
  std::string wide;
  for (const char letter : std::string("a,b\n1,2\n")) wide += {letter, '\0'};
  for (const std::string& source : {"\xff\xfe" + wide, wide})
    EXPECT_THAT(refused(source), AllOf(HasSubstr("UTF-16"), HasSubstr("iconv -f UTF-16 -t UTF-8 list.csv")));
  for (const char* beginning : {"PK\x03\x04", "\xd0\xcf\x11\xe0"})
    EXPECT_THAT(refused(beginning + wide), AllOf(HasSubstr("workbook of Excel"), HasSubstr("CSV UTF-8")));
}

// The message of such a file had two megabytes.
TEST(ParseCsv, NamesAFewOfVeryManyColumns) {
  std::string header = "a-name-of-more-than-sixty-four-letters-" + std::string(100, 'x');
  for (int i = 0; i < 300'000; ++i) header += ",c" + std::to_string(i);
  const auto error = error_of([&] { parse_csv(header + "\nx\n", "list.csv"); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr("1 cells, but there are 300001 columns"));
  EXPECT_THAT(error->message(), HasSubstr("c18, and 299981 more"));
  EXPECT_LT(error->message().size(), 300U);
  const auto doubled =
      error_of([&] { parse_csv(std::string(1000, 'y') + ',' + std::string(1000, 'y'), "list.csv"); });
  ASSERT_TRUE(doubled);
  EXPECT_LT(doubled->message().size(), 200U);
}

TEST(CsvCell, ReadsBackAsItWas) {
  for (const std::string word : {"a,b", "a\"b", "a\nb", "a\rb", "\r", "=1"})
    EXPECT_THAT(parse_csv("a\n" + csv_cell(word) + "\n", "x").rows[0].cells, ElementsAre(word));
}

TEST(CsvWords, AreNoFormula) {
  for (const std::string words : {"=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "-"})
    EXPECT_EQ(parse_csv("a\n" + csv_words(words) + "\n", "x").rows[0].cells[0], "'" + words);
}

TEST(CsvWords, StayAsTheyAreWhereNothingComputesThem) {
  for (const std::string words : {"", "-5", "-1e-3", "1=1", "scan-01.nii", "two words"})
    EXPECT_EQ(csv_words(words), words);
  EXPECT_EQ(csv_words("=1,2"), "\"'=1,2\"");
}

}  // namespace
}  // namespace larmor
