#include "larmor/base/load_clock.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/formats/bytes.h"
#include "larmor/formats/volume.h"
#include "larmor/transforms/transforms.h"

#include "tests/support/cases.h"
#include "tests/support/dicom_files.h"
#include "tests/support/encoded_pixels.h"
#include "tests/support/image_files.h"
#include "tests/support/picture_files.h"

namespace larmor {
namespace {

void wait(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

double of(const LoadSeconds& seconds, LoadStage stage) { return seconds[static_cast<std::size_t>(stage)]; }

TEST(LoadClock, GivesTheTimeOfAnInnerScopeToItAlone) {
  LoadClock clock;
  {
    const LoadScope outer(LoadStage::augment);
    wait(20);
    {
      const LoadScope inner(LoadStage::resample);
      wait(40);
    }
    wait(20);
  }
  wait(50);  // outside of all
  const auto seconds = clock.take();
  EXPECT_GE(of(seconds, LoadStage::augment), 0.04);
  EXPECT_GE(of(seconds, LoadStage::resample), 0.04);
  EXPECT_LT(of(seconds, LoadStage::augment) + of(seconds, LoadStage::resample), 0.13)
      << "the rest is nobody's";
  EXPECT_EQ(clock.take(), LoadSeconds{}) << "taken once";
}

TEST(LoadClock, KnowsItsOwnThreadAlone) {
  LoadClock clock;
  std::thread([] {
    const LoadScope scope(LoadStage::read);
    wait(5);
  }).join();
  EXPECT_EQ(of(clock.take(), LoadStage::read), 0);
}

TEST(LoadClock, TellsThatAStageHasEnded) {
  int ended = 0;
  const LoadClock clock([&ended] { ++ended; });
  {
    const LoadScope outer(LoadStage::augment);
    {
      const LoadScope inner(LoadStage::resample);
    }
    EXPECT_EQ(ended, 1) << "the outer one is at work";
  }
  EXPECT_EQ(ended, 2);
  std::thread([] { const LoadScope elsewhere(LoadStage::read); }).join();
  EXPECT_EQ(ended, 2);
}

TEST(LoadClock, TellsOfEachPieceOfALongRead) {
  const ScratchFolder scratch;
  const auto path = scratch.path() / "long";
  std::ofstream(path).put('a');
  std::filesystem::resize_file(path, (uint64_t{64} << 20) + 7);
  int ended = 0;
  const LoadClock clock([&ended] { ++ended; });
  const Bytes bytes = read_file(path, uint64_t{1} << 30);
  EXPECT_EQ(ended, 3) << "two pieces, and all of it";
  EXPECT_EQ(bytes.size(), (std::size_t{64} << 20) + 7);
  EXPECT_EQ(bytes.view().front(), std::byte{'a'});
}

TEST(LoadClock, SeesWhatBecomesOfAFile) {
  testing::CaseFolder cases;
  cases.volume("a.nii.gz");
  const TransformChain chain(
      Json::parse(R"([{"Spacing": {"pixdim": 0.3}}, {"RandGaussianNoise": {"prob": 1}}])"));
  LoadClock clock;
  chain.apply({{"image", read_volume(cases.path() / "a.nii.gz")}}, {1, 2, 3});
  const auto seconds = clock.take();
  for (const auto stage :
       {LoadStage::read, LoadStage::decompress, LoadStage::decode, LoadStage::resample, LoadStage::augment}) {
    EXPECT_GT(of(seconds, stage), 0) << to_text(stage);
  }
}

TEST(LoadClock, TellsReadingUnpackingAndConvertingOfPicturesApart) {
  const ScratchFolder scratch;
  const std::vector<uint16_t> pixels(40 * 30, 7);
  testing::write_file(scratch.path() / "usual.png",
                      testing::png_of(40, 30, testing::PngKind::grey, 8, pixels));
  testing::write_file(scratch.path() / "interlaced.png",
                      testing::png_of(40, 30, testing::PngKind::grey, 8, pixels, true));
  testing::write_file(scratch.path() / "a.jpg", testing::jpeg_of(40, 30, 3));
  testing::write_file(
      scratch.path() / "rle.dcm",
      testing::DicomBytes(testing::rle_lossless)
          .fragments_of({testing::encoded_frame(testing::rle_lossless, 3, 2, 16, {0, 1, 2, 3, 4, 5})})
          .whole());
  for (const char* const name : {"usual.png", "interlaced.png", "a.jpg", "rle.dcm"}) {
    LoadClock clock;
    read_volume(scratch.path() / name);
    const auto seconds = clock.take();
    for (const auto stage : {LoadStage::read, LoadStage::decompress, LoadStage::decode})
      EXPECT_GT(of(seconds, stage), 0) << name << ' ' << to_text(stage);
  }
}

}  // namespace
}  // namespace larmor
