#include "larmor/data/index/exclude_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/data/index/file_list.h"
#include "larmor/data/index/index.h"

#include "tests/support/cases.h"
#include "tests/support/dicom_files.h"

namespace larmor {
namespace {

using testing::CaseFolder;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

/// A data set whose list lies beside its folder.
class ExcludeList : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* patient : {"p1", "p2", "p3", "p4"})
      for (const char* scan : {"t1.nii", "t2.nii.gz"}) folder_.volume(std::string(patient) + "/" + scan);
    data_.folder = folder_.path().string();
  }

  DataConfig with(const std::string& lines) {
    lists_.file("out.txt", lines);
    data_.exclude_list = (lists_.path() / "out.txt").string();
    return data_;
  }

  std::vector<std::string> left(const std::string& lines) {
    std::vector<std::string> all;
    for (const Case& entry : make_index(with(lines), 1).cases) all.push_back(entry.name());
    return all;
  }

  CaseFolder folder_, lists_;
  DataConfig data_;
};

TEST_F(ExcludeList, LeavesOutPatientsAndPaths) {
  const std::string whole = (folder_.path() / "p4" / "t2.nii.gz").string();
  EXPECT_THAT(left("# doubtful\n\np1\r\n p2/t1.nii \n./p3/t1.nii\n" + whole + "\n"),
              ElementsAre("p2/t2.nii.gz", "p3/t2.nii.gz", "p4/t1.nii"));
}

TEST_F(ExcludeList, StandsInTheAccount) {
  const Json rows = list_of_files(make_index(with("p1\np2/t1.nii\n"), 1));
  EXPECT_EQ(rows.size(), 8U);
  int left_out = 0;
  for (const Json& row : rows) left_out += row.value("reason", "") == "left out by data.exclude_list" ? 1 : 0;
  EXPECT_EQ(left_out, 3);
}

TEST_F(ExcludeList, RefusesALineThatFitsNothingWithTheNearestName) {
  const auto error = error_of([&] { make_index(with("p1\np2/t3.nii\np9\n"), 1); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::data);
  EXPECT_THAT(error->message(), HasSubstr("out.txt:2: p2/t3.nii is no path, case or patient of the data"));
  EXPECT_THAT(error->message(), HasSubstr("1 other line"));
  EXPECT_THAT(error->hint(), HasSubstr("did you mean p2/t"));
  EXPECT_EQ(make_index(without_splits(with("p1\np99\n")), 1).cases.size(), 6U)
      << "other data need not have what the list names";
}

TEST_F(ExcludeList, RefusesToLeaveOutEverythingAndAListThatIsNotThere) {
  EXPECT_THAT(error_of([&] { make_index(with("p1\np2\np3\np4\n"), 1); })->message(),
              HasSubstr("leaves out every case"));
  data_.exclude_list = "/nowhere/out.txt";
  EXPECT_THAT(error_of([&] { make_index(data_, 1); })->message(), HasSubstr("/nowhere/out.txt is not there"));
}

TEST_F(ExcludeList, TakesWhatIsLeftOutAnyway) {
  folder_.file("p1/notes.txt", "");
  EXPECT_EQ(left("p1/notes.txt\n").size(), 8U);
}

// A slice names the series that it is of, which would have a gap without it.
TEST_F(ExcludeList, LeavesOutSeriesByAnyOfTheirSlices) {
  CaseFolder scans;
  for (const char* patient : {"p1", "p2", "p3"}) {
    for (int i = 0; i < 3; ++i) {
      testing::DicomBytes file;
      scans.file(std::string(patient) + "/" + std::to_string(i),
                 file.place(0, 0, i).put(0x0020000e, "UI", "1.2.3").whole());
    }
  }
  data_.kind = "dicom";
  data_.folder = scans.path().string();
  const Index index = make_index(with("p1\np2/1\n"), 1);
  ASSERT_EQ(index.cases.size(), 1U);
  EXPECT_EQ(index.cases[0].name(), "p3");
  EXPECT_EQ(index.account->passed_over.at("left out by data.exclude_list").size(), 6U);
  EXPECT_EQ(list_of_files(index).size(), 9U);
}

TEST_F(ExcludeList, IsForTheCasesOfListsToo) {
  folder_.file("list.csv", "patient,image\nanna,p1/t1.nii\nbert,p2/t1.nii\ncarl,p3/t1.nii\n");
  data_.kind = "list";
  data_.list = (folder_.path() / "list.csv").string();
  EXPECT_THAT(left("bert\n"), ElementsAre("p1/t1.nii", "p3/t1.nii"));
}

}  // namespace
}  // namespace larmor
