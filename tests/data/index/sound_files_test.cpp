#include "larmor/data/index/sound_files.h"

#include <fstream>

#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/data/index/check_files.h"

#include "tests/support/cases.h"

namespace larmor {
namespace {

using std::chrono::nanoseconds;

class SoundFilesList : public ::testing::Test {
 protected:
  SoundFilesList() {
    folder_.archive("a.npz", {2, 3}).archive("b.npz", {2, 3});
    index_.folder = folder_.path();
    index_.cases.push_back({.files = {{"image", "a.npz"}}, .patient = "a", .label = {}});
    index_.cases.push_back({.files = {{"image", "b.npz"}}, .patient = "b", .label = {}});
  }
  SoundFiles list(nanoseconds settled = nanoseconds(0)) { return SoundFiles(storage_, path(), settled); }
  std::filesystem::path path() const { return scratch_.path() / "cache" / "sound-files"; }
  bool knows(const std::string& name) {
    const auto file = folder_.path() / name;
    return list().has(file, *SoundFiles::state_of(file));
  }

  larmor::testing::CaseFolder folder_;
  ScratchFolder scratch_;
  DiskStorage storage_;
  Index index_;
};

TEST_F(SoundFilesList, RemembersWhatWasFoundSound) {
  SoundFiles sound = list();
  EXPECT_FALSE(knows("a.npz"));
  EXPECT_TRUE(check_files(index_, sound).empty());
  EXPECT_TRUE(knows("a.npz"));
  EXPECT_TRUE(knows("b.npz"));
}

TEST_F(SoundFilesList, LooksAgainAtAFileThatHasChanged) {
  SoundFiles sound = list();
  check_files(index_, sound);
  std::filesystem::resize_file(folder_.path() / "a.npz", 30);
  EXPECT_FALSE(knows("a.npz"));
  SoundFiles again = list();
  const auto bad = check_files(index_, again);
  ASSERT_EQ(bad.size(), 1u);
  EXPECT_EQ(bad.front().path, "a.npz");
  SoundFiles third = list();
  EXPECT_EQ(check_files(index_, third).size(), 1u);  // what is bad is not remembered
}

TEST_F(SoundFilesList, DoesNotOpenWhatItKnows) {
  const auto file = folder_.path() / "a.npz";
  std::filesystem::resize_file(file, 30);
  SoundFiles sound = list();
  sound.add(file, *SoundFiles::state_of(file));
  EXPECT_TRUE(check_files(index_, sound).empty());
}

TEST_F(SoundFilesList, IsAsGoodAsNoneWhereItIsDamaged) {
  SoundFiles sound = list();
  check_files(index_, sound);
  std::string content = read_text(path());
  content[content.size() / 2] = static_cast<char>(content[content.size() / 2] ^ 1);
  std::ofstream(path(), std::ios::trunc) << content;
  EXPECT_FALSE(knows("a.npz"));
  EXPECT_FALSE(knows("b.npz"));
}

TEST_F(SoundFilesList, DoesNotRememberWhatHasJustBeenWritten) {
  SoundFiles sound = list(std::chrono::hours(1));
  check_files(index_, sound);
  EXPECT_FALSE(knows("a.npz"));
}

}  // namespace
}  // namespace larmor
