#include "larmor/data/index/case_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/cases.h"

namespace larmor {
namespace {

using testing::CaseFolder;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::Pair;

class CaseList : public ::testing::Test {
 protected:
  std::vector<ListedCase> read(const std::string& name, const std::string& content) {
    folder_.file(name, content);
    return read_case_list(folder_.path() / name);
  }
  std::string message(const std::string& name, const std::string& content) {
    const auto error = error_of([&] { read(name, content); });
    EXPECT_TRUE(error && error->exit() == Exit::data) << content;
    return error ? error->message() : "";
  }
  CaseFolder folder_;
};

TEST_F(CaseList, ReadsATable) {
  const auto cases = read("list.csv",
                          "patient,image,label,split,age\n"
                          "p1,a.nii.gz,0.5,train,40\n"
                          "p2,b.nii.gz,b_seg.nii.gz,,50\n");
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_THAT(cases[0].files, ElementsAre(Pair("image", "a.nii.gz")));
  EXPECT_EQ(cases[0].label, "0.5");
  EXPECT_EQ(cases[0].patient, "p1");
  EXPECT_EQ(cases[0].split, Split::train);
  EXPECT_EQ(cases[0].place, "list.csv:2");
  EXPECT_THAT(cases[1].files, ElementsAre(Pair("image", "b.nii.gz"), Pair("label", "b_seg.nii.gz")));
  EXPECT_EQ(cases[1].label, "");
  EXPECT_FALSE(cases[1].split);
}

TEST_F(CaseList, ReadsModalities) {
  const auto cases = read("list.csv", "image_t1,image_flair\na.nii,b.nii\n");
  EXPECT_THAT(cases[0].files, ElementsAre(Pair("image_flair", "b.nii"), Pair("image_t1", "a.nii")));
}

TEST_F(CaseList, NamesTheLineOfAFaultInATable) {
  EXPECT_THAT(message("list.csv", "images,label\na.nii,1\n"), HasSubstr("no column image"));
  EXPECT_THAT(message("list.csv", "image,label\na.nii,1\n,0\n"),
              HasSubstr("list.csv:3: the cell under image"));
  EXPECT_THAT(message("list.csv", "image,split\na.nii,holdout\n"),
              HasSubstr("list.csv:2: \"holdout\" is no split"));
  EXPECT_THAT(message("list.csv", "image\n"), HasSubstr("names no cases"));
}

TEST_F(CaseList, ReadsMonaisDataList) {
  const auto cases = read("list.json", R"({
    "name": "heads",
    "training": [{"image": "a.nii", "label": 1, "patient": "p1"}, {"image": ["b0.nii", "b1.nii"], "label": "b.nii"}],
    "validation": [{"image": ["c.nii"], "patient": 7}],
    "test": ["d.nii"]})");
  ASSERT_EQ(cases.size(), 4U);
  EXPECT_EQ(cases[0].label, "1");
  EXPECT_EQ(cases[0].split, Split::train);
  EXPECT_THAT(cases[1].files,
              ElementsAre(Pair("image_00", "b0.nii"), Pair("image_01", "b1.nii"), Pair("label", "b.nii")));
  EXPECT_THAT(cases[2].files, ElementsAre(Pair("image", "c.nii")));
  EXPECT_EQ(cases[2].patient, "7");
  EXPECT_EQ(cases[2].split, Split::val);
  EXPECT_EQ(cases[3].split, Split::test);
  EXPECT_EQ(cases[3].place, "list.json: test[0]");
}

TEST_F(CaseList, LeavesTrainingCasesToTheFractionsWhenThereIsNoValidation) {
  const auto cases = read("list.json", R"({"training": [{"image": "a.nii"}], "testing": ["b.nii"]})");
  EXPECT_FALSE(cases[0].split);
  EXPECT_EQ(cases[1].split, Split::test);
}

TEST_F(CaseList, NamesThePlaceOfAFaultInADataList) {
  EXPECT_THAT(message("list.json", R"({"cases": []})"), HasSubstr("no section"));
  EXPECT_THAT(message("list.json", R"([1])"), HasSubstr("no section"));
  EXPECT_THAT(message("list.json", R"({"training": {}})"), HasSubstr("not a list"));
  EXPECT_THAT(message("list.json", R"({"training": [{"image": "a.nii"}, {"label": 1}]})"),
              HasSubstr("training[1]"));
  EXPECT_THAT(message("list.json", R"({"training": [{"image": 3}]})"), HasSubstr("3 is no path"));
  EXPECT_THAT(message("list.json", R"({"training": [{"image": []}]})"), HasSubstr("0 images"));
  EXPECT_THAT(message("list.json", R"({"training": []})"), HasSubstr("names no cases"));
  EXPECT_THAT(message("list.json", "{"), HasSubstr("list.json:1"));
}

TEST_F(CaseList, SaysThatTheListIsNotThere) {
  const auto error = error_of([&] { read_case_list(folder_.path() / "absent.csv"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::data);
  EXPECT_THAT(error->message(), HasSubstr("absent.csv is not there"));
}

}  // namespace
}  // namespace larmor
