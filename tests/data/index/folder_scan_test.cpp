#include "larmor/data/index/folder_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/cases.h"

namespace larmor {
namespace {

using testing::CaseFolder;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

NamePatterns patterns(std::vector<std::string> include = {}, std::vector<std::string> exclude = {}) {
  return {.suffixes = {".nii", ".nii.gz"}, .include = std::move(include), .exclude = std::move(exclude)};
}

TEST(ScanFolder, FindsFilesBySuffixAtAnyDepth) {
  CaseFolder folder;
  folder.file("b/t1.nii", "")
      .file("a/deep/er/t2.NII.GZ", "")
      .file("loose.nii.gz", "")
      .file("a/notes.txt", "");
  const FolderScan scan = scan_folder(folder.path(), patterns());
  EXPECT_THAT(scan.files, ElementsAre("a/deep/er/t2.NII.GZ", "b/t1.nii", "loose.nii.gz"));
  EXPECT_EQ(scan.others, 1);
  EXPECT_EQ(scan.passed_over, 0);
}

TEST(ScanFolder, LeavesHiddenNamesAlone) {
  CaseFolder folder;
  folder.file("._t1.nii", "").file(".git/t1.nii", "").file("a/.t1.nii", "").file("a/t1.nii", "");
  EXPECT_THAT(scan_folder(folder.path(), patterns()).files, ElementsAre("a/t1.nii"));
}

TEST(ScanFolder, HoldsAPatternWithoutASlashAgainstTheNameAlone) {
  CaseFolder folder;
  folder.file("seg_center/t1.nii", "").file("a/t1_seg.nii", "").file("a/t1.nii", "").file("b/t2.nii", "");
  const FolderScan scan = scan_folder(folder.path(), patterns({}, {"*seg*"}));
  EXPECT_THAT(scan.files, ElementsAre("a/t1.nii", "b/t2.nii", "seg_center/t1.nii"));
  EXPECT_EQ(scan.passed_over, 1);
  EXPECT_THAT(scan_folder(folder.path(), patterns({"a/*"})).files, ElementsAre("a/t1.nii", "a/t1_seg.nii"));
  EXPECT_THAT(scan_folder(folder.path(), patterns({"t1*"}, {"a/**"})).files,
              ElementsAre("seg_center/t1.nii"));
  EXPECT_EQ(scan_folder(folder.path(), patterns({"nothing"})).passed_over, 4);
}

TEST(ScanFolder, FollowsLinksAndSurvivesTheirLoops) {
  CaseFolder folder, elsewhere;
  folder.file("a/t1.nii", "");
  elsewhere.file("t2.nii", "");
  std::filesystem::create_directory_symlink(folder.path(), folder.path() / "a" / "up");
  std::filesystem::create_directory_symlink(elsewhere.path(), folder.path() / "b");
  std::filesystem::create_directory_symlink(elsewhere.path(), folder.path() / "c");
  std::filesystem::create_symlink(elsewhere.path() / "t2.nii", folder.path() / "d.nii");
  EXPECT_THAT(scan_folder(folder.path(), patterns()).files, ElementsAre("a/t1.nii", "b/t2.nii", "d.nii"));
}

TEST(ScanFolder, SaysWhatIsWrongWithTheFolder) {
  CaseFolder folder;
  folder.file("file", "");
  const auto absent = error_of([&] { scan_folder(folder.path() / "absent", patterns()); });
  ASSERT_TRUE(absent);
  EXPECT_EQ(absent->exit(), Exit::data);
  EXPECT_THAT(absent->message(), HasSubstr("absent is not there"));
  EXPECT_FALSE(absent->hint().empty());
  const auto file = error_of([&] { scan_folder(folder.path() / "file", patterns()); });
  ASSERT_TRUE(file);
  EXPECT_THAT(file->message(), HasSubstr("is not a folder"));
}

}  // namespace
}  // namespace larmor
