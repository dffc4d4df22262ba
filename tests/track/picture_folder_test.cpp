#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/track/tracker.h"

#include "tests/track/support/collecting.h"

namespace larmor {
namespace {

const Image picture{.width = 2, .height = 1, .channels = 1, .pixels = {0, 255}};

TEST(PictureFolder, NamesAPictureByItsNameAndItsStep) {
  const ScratchFolder scratch;
  DiskStorage disk;
  make_picture_folder(disk, scratch.path() / "pictures")->picture({120, 1, 960}, "reconstruction", picture);
  EXPECT_EQ(read_text(scratch.path() / "pictures/reconstruction-00000120.png"), encode_png(picture));
}

TEST(PictureFolder, KeepsEveryPictureInsideItsFolder) {
  const ScratchFolder scratch;
  DiskStorage disk;
  make_picture_folder(disk, scratch.path())->picture({1, 1, 8}, "val/../case 3", picture);
  EXPECT_TRUE(std::filesystem::exists(scratch.path() / "val-..-case-3-00000001.png"));
}

TEST(PictureFolder, WarnsOnceOfAFullDiskAndLetsTrainingGoOn) {
  const ScratchFolder scratch;
  FullDisk disk("write");
  const auto folder = make_picture_folder(disk.storage, scratch.path());
  disk.is_full = true;
  ::testing::internal::CaptureStderr();
  for (int step = 0; step < 3; ++step) EXPECT_NO_THROW(folder->picture({step, 0, 0}, "face", picture));
  EXPECT_EQ(count(::testing::internal::GetCapturedStderr(), "training goes on without pictures"), 1);
}

}  // namespace
}  // namespace larmor
