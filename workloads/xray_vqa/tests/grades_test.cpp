#include "workloads/xray_vqa/data/grades.h"

#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"

#include "tests/support/image_files.h"

namespace larmor::xray_vqa {
namespace {

TEST(Grades, AreInOrder) {
  EXPECT_LT(*grade_called("A++"), *grade_called("a+"));
  EXPECT_LT(*grade_called("A"), *grade_called("B"));
  EXPECT_LT(*grade_called("D"), *grade_called("unrated"));
  EXPECT_FALSE(grade_called("E").has_value());
}

TEST(Grades, LettersNeedNoCodes) { EXPECT_EQ(GradeCodes().find("A+"), Grade::a_plus); }

TEST(Grades, OnlyTheLinesOfTheQuestionsQualityDecodeIt) {
  const ScratchFolder scratch;
  const auto file = scratch.path() / "q.csv";
  larmor::testing::write_file(
      file, "Field;Code;Label\nanswer_quality;1;D\nquestion_quality;1;A\nquestion_quality;2;?\n");
  const GradeCodes codes(file);
  EXPECT_EQ(codes.find("1"), Grade::a);
  EXPECT_FALSE(codes.find("2").has_value());
  EXPECT_FALSE(codes.find("7").has_value());
}

TEST(Grades, AFileThatDecodesNothingIsRefused) {
  const ScratchFolder scratch;
  const auto file = scratch.path() / "q.csv";
  larmor::testing::write_file(file, "code,grade\n1,good\n");
  EXPECT_THROW(GradeCodes{file}, Error);
}

}  // namespace
}  // namespace larmor::xray_vqa
