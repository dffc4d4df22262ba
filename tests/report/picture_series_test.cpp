#include "larmor/report/picture_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/base/files/removal.h"
#include "larmor/base/files/storage.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PicturesOfARun : public ::testing::Test {
 protected:
  void put(const std::string& name, std::size_t bytes = 10) {
    DiskStorage disk;
    disk.create_folders((folder() / name).parent_path());
    write_text(disk, folder() / name, std::string(bytes, 'p'));
  }
  static std::vector<int64_t> steps_of(const PictureSeries& series) {
    std::vector<int64_t> steps;
    for (const auto& shot : series.shots) steps.push_back(shot.step.value_or(-1));
    return steps;
  }
  std::filesystem::path folder() const { return scratch_.path() / "pictures"; }

 private:
  ScratchFolder scratch_;
};

TEST_F(PicturesOfARun, AreSeriesByNameInTheOrderOfSteps) {
  put("val-case-3-00000020.png");
  put("val-case-3-00000010.png");
  put("samples-123456789.png");
  put("evaluate-val/roc.png");
  put("evaluate-val/figures.json");
  put("notes.txt");
  const auto all = pictures_within(folder(), 1000);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].name, "evaluate-val/roc");
  EXPECT_THAT(steps_of(all[0]), ElementsAre(-1));
  EXPECT_EQ(all[1].name, "samples");
  EXPECT_THAT(steps_of(all[1]), ElementsAre(123456789));
  EXPECT_EQ(all[2].name, "val-case-3");
  EXPECT_THAT(steps_of(all[2]), ElementsAre(10, 20));
}

TEST_F(PicturesOfARun, AreTheLastTheFirstAndThoseBetweenAsThereIsRoom) {
  for (const char* step : {"00000010", "00000020", "00000030", "00000040", "00000050"})
    put(std::string("face-") + step + ".png");
  const std::pair<uint64_t, std::vector<int64_t>> expected[] = {
      {9, {}}, {10, {50}}, {20, {10, 50}}, {30, {10, 30, 50}}, {1000, {10, 20, 30, 40, 50}}};
  for (const auto& [bytes, steps] : expected) {
    const auto all = pictures_within(folder(), bytes);
    ASSERT_EQ(all.size(), 1U) << bytes;
    EXPECT_EQ(steps_of(all[0]), steps) << bytes;
    EXPECT_EQ(all[0].left_out, 5 - std::ssize(steps)) << bytes;
  }
}

TEST_F(PicturesOfARun, ShareTheRoomBeforeOneHasMore) {
  for (const char* name : {"a", "b"}) {
    for (const char* step : {"-00000010.png", "-00000020.png"}) put(std::string(name) + step);
  }
  const auto all = pictures_within(folder(), 30);
  EXPECT_THAT(steps_of(all[0]), ElementsAre(10, 20));
  EXPECT_THAT(steps_of(all[1]), ElementsAre(20));
}

TEST_F(PicturesOfARun, AreNoneWhereThereIsNoFolder) {
  EXPECT_THAT(pictures_within(folder(), 1000), IsEmpty());
}

}  // namespace
}  // namespace larmor
