// `evaluate --output`: the tables of whom figures concern, of workloads whose cases have figures, outcomes or
// answers.
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/trained_run.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int usage = 2, environment = 4;

/// The cells of a line; in quotes they may hold commas.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  bool is_quoted = false;
  for (const char letter : line) {
    if (letter == '"') {
      is_quoted = !is_quoted;
    } else if (letter == ',' && !is_quoted) {
      cells.emplace_back();
    } else {
      cells.back().push_back(letter);
    }
  }
  return cells;
}

std::vector<std::vector<std::string>> rows_of(const fs::path& file) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& line : split(read_text(file), '\n')) {
    if (!line.empty()) rows.push_back(cells_of(line));
  }
  return rows;
}

class JudgedCases : public TrainedRun {
 protected:
  static std::string table(const std::string& name) { return read_text(folder() / name); }
};

TEST_F(JudgedCases, StandInTablesThatAreTheSameForAnyNumberOfRanks) {
  const auto alone = call({"evaluate", "run", "--output", "one", "--ranks", "1", "--json"});
  ASSERT_EQ(alone.status, 0) << alone.err;
  EXPECT_EQ(alone.json().at("tables").at(0), "one/cases.csv");
  const auto shared = call({"evaluate", "run", "--output", "two", "--ranks", "2"});
  ASSERT_EQ(shared.status, 0) << shared.err;
  EXPECT_THAT(shared.out, HasSubstr("two/patients.csv"));
  for (const std::string name : {"cases.csv", "patients.csv", "columns.csv"})
    EXPECT_EQ(table("one/" + name), table("two/" + name)) << name;

  const auto rows = rows_of(folder() / "one" / "cases.csv");
  const auto report = alone.json();
  EXPECT_THAT(table("one/cases.csv"), StartsWith("case,patient,split,loss,psnr,ssim,l1\n"));
  ASSERT_EQ(rows.size(), 1 + report.at("n").get<std::size_t>());
  for (std::size_t row = 1; row < rows.size(); ++row) {
    const auto& of_case = report.at("psnr").at("per_case").at(row - 1);
    EXPECT_EQ(rows[row][2], "val");
    EXPECT_EQ(std::stod(rows[row][4]), of_case.at("value").get<double>());
  }
  EXPECT_THAT(table("one/columns.csv"), HasSubstr("cases.csv,psnr,dB,higher,"));
}

TEST_F(JudgedCases, AreWrittenIntoNoFolderOfOtherThings) {
  put_file(folder() / "mine" / "thesis.txt", "years");
  const auto end = call({"evaluate", "run", "--quick", "--output", "mine"});
  EXPECT_EQ(end.status, usage);
  EXPECT_THAT(end.err,
              AllOf(HasSubstr("mine holds other files, thesis.txt"), HasSubstr("name a new folder")));
  EXPECT_EQ(call({"evaluate", "run", "--quick", "--output", "mine/thesis.txt"}).status, usage);
  EXPECT_EQ(table("mine/thesis.txt"), "years");
}

// The figures have been computed by then: they are shown.
TEST_F(JudgedCases, AreAnErrorWhereTheDiskIsFullAndTheFiguresAreShown) {
  ASSERT_EQ(call({"evaluate", "run", "--quick", "--output", "full"}).status, 0);
  const auto old = table("full/patients.csv");
  const auto end =
      larmor_program({"evaluate", "run", "--quick", "--output", "full"},
                     {.folder = folder(), .environment = {{"LARMOR_FAIL_POINT", "write:2+:full"}}});
  EXPECT_EQ(end.status, environment);
  EXPECT_THAT(end.err, HasSubstr("No space left on device"));
  EXPECT_THAT(end.out, HasSubstr("psnr"));
  EXPECT_EQ(table("full/patients.csv"), old);
}

TEST_F(JudgedCases, HaveTheirOutcomesBesideTheirRisks) {
  const auto trained =
      call({"train", "survival", "-c", "tiny", "run.name=risks", "train.length=2st", "data.cohort_cases=100",
            "optim.schedule.name=constant", "optim.schedule.warmup=0"});
  ASSERT_EQ(trained.status, 0) << trained.err;
  const auto end = call({"evaluate", "risks", "--output", "outcomes", "--ranks", "2"});
  ASSERT_EQ(end.status, 0) << end.err;
  const auto rows = rows_of(folder() / "outcomes" / "cases.csv");
  EXPECT_EQ(join(rows.at(0), ","), "case,patient,split,time,event,group,risk_truth,risk");
  std::map<std::string, double> highest;
  for (std::size_t row = 1; row < rows.size(); ++row) {
    EXPECT_GT(std::stod(rows[row][3]), 0);
    EXPECT_THAT(rows[row][4], ::testing::AnyOf("0", "1"));
    const auto [group, is_new] = highest.try_emplace(rows[row][5], std::stod(rows[row][7]));
    if (!is_new) group->second = std::max(group->second, std::stod(rows[row][7]));
  }
  ASSERT_EQ(highest.size(), 3U) << "low, middle and high";
  EXPECT_LT(highest.at("low"), highest.at("middle"));
  EXPECT_LT(highest.at("middle"), highest.at("high"));
}

TEST_F(JudgedCases, AreQuestionsWithTheirAnswersAndTruths) {
  const auto trained = call({"train", "xray_vqa", "-c", "tiny", "run.name=questions", "train.length=2st",
                             "train.validate_every=2st", "checkpoint.every=2st"});
  ASSERT_EQ(trained.status, 0) << trained.err;
  const auto end = call({"evaluate", "questions", "--output", "answers", "--json"});
  ASSERT_EQ(end.status, 0) << end.err;
  const auto lines = split(table("answers/cases.csv"), '\n');
  EXPECT_THAT(lines.at(0),
              StartsWith("case,patient,split,study,question,type,head,truth,answer,probability,right,"
                         "answer_without_scene,probability_without_scene,right_without_scene,"));
  ASSERT_EQ(std::ssize(lines), 2 + end.json().at("n").get<int64_t>());
  const auto of_patients = rows_of(folder() / "answers" / "patients.csv");
  EXPECT_EQ(std::ssize(of_patients), 1 + end.json().at("patients").get<int64_t>());
  const auto right = std::ranges::find(of_patients.at(0), "right") - of_patients.at(0).begin();
  double sum = 0, questions = 0;
  for (std::size_t row = 1; row < of_patients.size(); ++row) {
    sum +=
        std::stod(of_patients[row].at(2)) * std::stod(of_patients[row].at(static_cast<std::size_t>(right)));
    questions += std::stod(of_patients[row].at(2));
  }
  EXPECT_NEAR(sum / questions, end.json().at("accuracy").at("mean").get<double>(), 1e-12);
}

}  // namespace
}  // namespace larmor::testing
