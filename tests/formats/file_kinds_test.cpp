#include "larmor/formats/file_kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/files/file.h"

#include "tests/support/image_files.h"

namespace larmor::testing {
namespace {

using ::testing::ElementsAre;

TEST(FileKinds, AreToldByTheLongestSuffixWhateverItsCase) {
  EXPECT_EQ(known_suffix("folder/head.new.NII.GZ"), ".nii.gz");
  EXPECT_EQ(known_suffix("slice.dcm.gz"), ".dcm.gz");
  EXPECT_EQ(known_suffix("notes.txt"), "");
  EXPECT_EQ(file_kind("picture").suffixes.size(), 3U);
}

TEST(FileKinds, AreToldByContentWhereTheNameSaysNothing) {
  const ScratchFolder scratch;
  write_file(scratch.path() / "head", NiftiBytes().whole());
  write_file(scratch.path() / "notes", "nothing to see here");
  write_file(scratch.path() / "picture.nii", "\x89PNG\r\n\x1a\n and so on");
  write_file(scratch.path() / "nrrd", "NRRD0004\n");
  write_file(scratch.path() / "metaimage.nii", "ObjectType = Image\nNDims = 3\n");
  EXPECT_EQ(kind_of_file(scratch.path() / "nrrd").name, "nrrd");
  EXPECT_EQ(kind_of_file(scratch.path() / "metaimage.nii").name, "metaimage");
  EXPECT_TRUE(may_hold_image(scratch.path() / "head"));
  EXPECT_FALSE(may_hold_image(scratch.path() / "notes"));
  EXPECT_EQ(kind_of_file(scratch.path() / "picture.nii").name, "picture");
}

TEST(FileKinds, AFolderHoldsFilesOfEveryKindAndNothingElse) {
  const ScratchFolder scratch;
  for (const auto* name :
       {"b.nii.gz", "a.hdr", "a.img", "c.jpeg", "d.npz", "e.mhd", "e.raw", "f.nrrd", ".e.nii", "notes.txt"})
    write_file(scratch.path() / name, NiftiBytes().whole());
  std::vector<std::string> names;
  for (const auto& path : images_in(scratch.path())) names.push_back(path.filename().string());
  EXPECT_THAT(names, ElementsAre("a.hdr", "b.nii.gz", "c.jpeg", "d.npz", "e.mhd", "f.nrrd"));
}

}  // namespace
}  // namespace larmor::testing
