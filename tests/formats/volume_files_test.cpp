#include "larmor/formats/volume_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/cases.h"
#include "tests/support/image_files.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;

TEST(VolumeFiles, AreBothHalvesOfAPairAndWhatAHeaderInTextNames) {
  testing::CaseFolder folder;
  folder.files({"a.hdr", "a.img.gz", "alone.hdr", "one.nii", "voxels.raw"});
  folder.file("b.mhd", testing::metaimage_file(false, "", "voxels.raw"));
  folder.file("c.nhdr", testing::nrrd_file(false, "raw", "data file: absent.raw\n"));
  const auto names = [&](const char* name) {
    std::vector<std::string> all;
    for (const auto& file : files_of_volume(folder.path() / name)) all.push_back(file.filename().string());
    return all;
  };
  EXPECT_THAT(names("a.hdr"), ElementsAre("a.hdr", "a.img.gz"));
  EXPECT_THAT(names("a.img.gz"), ElementsAre("a.hdr", "a.img.gz"));
  EXPECT_THAT(names("alone.hdr"), ElementsAre("alone.hdr"));
  EXPECT_THAT(names("b.mhd"), ElementsAre("b.mhd", "voxels.raw"));
  EXPECT_THAT(names("c.nhdr"), ElementsAre("c.nhdr"));
  EXPECT_THAT(names("one.nii"), ElementsAre("one.nii"));
  EXPECT_THAT(names("absent.nii"), ElementsAre("absent.nii"));
  EXPECT_TRUE(may_be_header("A.MHD"));
  EXPECT_TRUE(may_be_header("a.hdr.gz"));
  EXPECT_FALSE(may_be_header("a.raw"));
}

}  // namespace
}  // namespace larmor
