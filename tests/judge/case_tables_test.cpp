#include "larmor/judge/case_tables.h"

#include <filesystem>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/formats/csv.h"

#include "tests/judge/support/scans.h"

namespace larmor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ValidationResult judged(std::vector<std::pair<int64_t, double>> psnr) {
  ValidationResult result;
  result.metrics["psnr"].per_case = std::move(psnr);
  return result;
}

const DeclaredFigures psnr_declared{
    {.name = "psnr", .better = Better::higher, .unit = "dB", .meaning = "peak signal to noise"}};

std::string table_of(const std::vector<NamedTable>& tables, const std::string& file) {
  return std::ranges::find(tables, file, &NamedTable::file)->content;
}

TEST(CaseTables, HaveARowACaseInTheOrderOfTheCases) {
  const Scans scans{{"a.nii", "ann"}, {"b.nii", "bob"}, {"c.nii", "ann"}};
  const auto tables = case_tables(judged({{0, 20.5}, {2, 30}}), {}, psnr_declared, scans, Split::test);
  EXPECT_EQ(table_of(tables, "cases.csv"),
            "case,patient,split,psnr\n"
            "a.nii,ann,test,20.5\n"
            "c.nii,ann,test,30\n")
      << "b.nii could not be used";
}

TEST(CaseTables, HaveARowAPatientWithTheMeansOverTheirCases) {
  auto result = judged({{0, 20}, {1, 7}, {2, 30}});
  result.columns = {{.name = "time", .unit = "days", .numbers = {{0, 0.1}, {1, 5}, {2, 0.1}}},
                    {.name = "side", .words = {{0, "left"}, {2, "right"}}},
                    {.name = "sex", .words = {{0, "f"}, {1, "m"}, {2, "f"}}}};
  const Scans scans{{"a.nii", "ann"}, {"b.nii", "bob"}, {"c.nii", "ann"}};
  EXPECT_EQ(table_of(case_tables(result, {}, psnr_declared, scans, Split::val), "patients.csv"),
            "patient,split,cases,time,sex,psnr\n"
            "ann,val,2,0.1,f,25\n"
            "bob,val,1,5,m,7\n")
      << "one patient has two sides";
}

TEST(CaseTables, SayWhatEachColumnIsAndItsUnit) {
  const Scans scans{{"a.nii", "ann"}};
  const auto table =
      parse_csv(table_of(case_tables(judged({{0, 1}}), {}, psnr_declared, scans, Split::val), "columns.csv"),
                "columns.csv");
  EXPECT_THAT(table.columns, ElementsAre("file", "column", "unit", "better", "meaning"));
  EXPECT_THAT(table.rows.at(3).cells,
              ElementsAre("cases.csv", "psnr", "dB", "higher", "peak signal to noise"));
  EXPECT_THAT(table.rows.back().cells, ElementsAre("patients.csv", "psnr", "dB", "higher",
                                                   "mean over the cases: peak signal to noise"));
}

TEST(CaseTables, LeaveACellEmptyWithoutAValueAndSayWhatIsNoNumber) {
  auto result = judged({{0, std::numeric_limits<double>::quiet_NaN()}, {1, 2}});
  result.columns = {{.name = "time", .numbers = {{1, 5}}}};
  const Scans scans{{"a", "a"}, {"b", "b"}};
  EXPECT_EQ(table_of(case_tables(result, {}, psnr_declared, scans, Split::val), "cases.csv"),
            "case,patient,split,time,psnr\na,a,val,,nan\nb,b,val,5,2\n");
}

// A name of a file is anybody's; a spreadsheet would compute it, and a comma part it.
TEST(CaseTables, HoldForeignWordsThatNoProgramTakesForAnythingElse) {
  const std::string formula = "=HYPERLINK(\"http://x\",\"y\")", broken = "two\nlines, \"one\" row";
  const Scans scans{{formula, broken}, {"-5", "@sum"}};
  CaseColumns facts{{.name = "question", .words = {{0, "+1 or\tnot"}, {1, "\r"}}}};
  const auto table = parse_csv(
      table_of(case_tables(judged({{0, -1}, {1, 1}}), facts, psnr_declared, scans, Split::val), "cases.csv"),
      "cases.csv");
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_THAT(table.rows[0].cells, ElementsAre("'" + formula, broken, "val", "'+1 or\tnot", "-1"));
  EXPECT_THAT(table.rows[1].cells, ElementsAre("-5", "'@sum", "val", "'\r", "1"));
}

TEST(CaseTables, ReplaceThoseOfAnEarlierCallAndNothingElse) {
  const ScratchFolder scratch;
  const auto storage = make_storage();
  const auto folder = scratch.path() / "tables";
  check_table_folder(folder);
  EXPECT_THAT(write_tables(*storage, folder, {{"cases.csv", "old\n"}}),
              ElementsAre((folder / "cases.csv").string()));
  check_table_folder(folder);
  write_tables(*storage, folder, {{"cases.csv", "new\n"}});
  EXPECT_EQ(read_text(folder / "cases.csv"), "new\n");
  write_text(*storage, folder / "thesis.txt", "years of work");
  EXPECT_THAT([&] { check_table_folder(folder); },
              ::testing::ThrowsMessage<Error>(HasSubstr("holds other files, thesis.txt for one")));
  EXPECT_THAT([&] { check_table_folder(folder / "thesis.txt"); },
              ::testing::ThrowsMessage<Error>(HasSubstr("is a file")));
}

}  // namespace
}  // namespace larmor::testing
