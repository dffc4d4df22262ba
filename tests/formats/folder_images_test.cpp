#include "larmor/formats/folder_images.h"

#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"

#include "tests/support/image_files.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FolderImages : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& bytes = NiftiBytes().whole()) const {
    fs::create_directories((scratch_.path() / name).parent_path());
    write_file(scratch_.path() / name, bytes);
  }
  std::vector<std::string> found(const std::string& below = "") const {
    std::vector<std::string> names;
    for (const auto& path : images_below(scratch_.path() / below))
      names.push_back(path.lexically_relative(scratch_.path()).string());
    return names;
  }
  std::string refused(const std::string& below = "") const {
    try {
      images_below(scratch_.path() / below);
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::data);
      return error.message() + " / " + error.hint();
    }
    return "";
  }

  ScratchFolder scratch_;
};

TEST_F(FolderImages, AreThoseInTheFolderOrElseThoseBelow) {
  put("heads/p1/t1.nii.gz");
  put("heads/p0/session/t1.nii.gz");
  put("heads/p0/session/.hidden.nii");
  put("heads/p2/notes.txt");
  EXPECT_THAT(found("heads"), ElementsAre("heads/p0/session/t1.nii.gz", "heads/p1/t1.nii.gz"));
  put("heads/own.nii");
  EXPECT_THAT(found("heads"), ElementsAre("heads/own.nii"));
}

TEST_F(FolderImages, AreFoundOnceWhateverLinksLeadToThem) {
  put("heads/p0/t1.nii");
  fs::create_directory_symlink("..", scratch_.path() / "heads" / "p0" / "again");
  fs::create_directory_symlink("p0", scratch_.path() / "heads" / "p1");
  EXPECT_THAT(found("heads"), ElementsAre("heads/p0/t1.nii"));
}

TEST_F(FolderImages, ThatAreNoneSayWhatLiesThereInstead) {
  fs::create_directories(scratch_.path() / "empty");
  EXPECT_THAT(refused("empty"), AllOf(HasSubstr("empty or below: nothing lies there"), HasSubstr(".nii.gz")));
  put("odd/a.csv", "x,y");
  put("odd/deeper/b.csv", "x,y");
  put("odd/README", "text");
  ASSERT_EQ(::mkfifo((scratch_.path() / "odd" / "pipe.nii").c_str(), 0600), 0);
  EXPECT_THAT(refused("odd"),
              HasSubstr("there lie 4 files (.csv 2, .nii 1, without a suffix 1) and 1 folder"));
  fs::create_directories(scratch_.path() / "nested" / "deeper");
  EXPECT_THAT(refused("nested"), HasSubstr("there lie no files, but 1 folder"));
  EXPECT_THAT(refused("absent"), HasSubstr("cannot read the folder"));
}

}  // namespace
}  // namespace larmor::testing
