#include "larmor/data/index/check_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/formats/quick_check.h"

#include "tests/support/cases.h"
#include "tests/support/image_files.h"

namespace larmor {
namespace {

using testing::CaseFolder;
using ::testing::HasSubstr;
using testing::NiftiBytes;
using testing::packed;
using testing::read_whole;

std::vector<BadFile> check(const CaseFolder& folder, Depth depth, const std::string& kind = "nifti") {
  DataConfig data;
  data.kind = kind;
  data.folder = folder.path().string();
  return check_files(make_index(data, 1), depth);
}

// A volume that compresses to more than the quick check reads of either end.
std::string large_volume() {
  NiftiBytes bytes;
  bytes.put(42, int16_t{100}).put(44, int16_t{100}).put(46, int16_t{20});
  std::vector<int16_t> values(200000);
  uint32_t state = 1;
  for (int16_t& value : values) value = static_cast<int16_t>((state = state * 1664525 + 1013904223) >> 18);
  return bytes.voxels_of(values).whole();
}

TEST(CheckFiles, IsContentWithGoodOnes) {
  CaseFolder folder;
  folder.volume("a.nii").volume("b.nii.gz").file("c.nii.gz", packed(large_volume()));
  for (const Depth depth : {Depth::header, Depth::full}) EXPECT_TRUE(check(folder, depth).empty());
  CaseFolder archives;
  archives.archive("a.npz", {2, 3, 4, 5}).archive("b.npz", {3, 4, 5});
  for (const Depth depth : {Depth::header, Depth::full}) EXPECT_TRUE(check(archives, depth, "npz").empty());
}

TEST(CheckFiles, ListsEveryFileThatIsCutShortOrLies) {
  CaseFolder folder;
  folder.volume("good.nii").volume("good.nii.gz");
  const std::string whole = NiftiBytes().whole(), large = packed(large_volume());
  folder.file("cut.nii", whole.substr(0, whole.size() - 1));
  folder.file("cut.nii.gz", packed(whole).substr(0, 100));
  folder.file("cut_large.nii.gz", large.substr(0, large.size() - 1000));
  folder.file("empty.nii", "");
  folder.file("lies.nii.gz", packed(NiftiBytes().put(42, int16_t{2000}).whole()));
  folder.file("words.nii", std::string(1000, 'x'));
  for (const Depth depth : {Depth::header, Depth::full}) {
    const auto bad = check(folder, depth);
    std::vector<std::string> paths;
    for (const BadFile& file : bad) {
      paths.push_back(file.path);
      EXPECT_FALSE(file.reason.empty());
      EXPECT_EQ(file.reason.find(folder.path().string()), std::string::npos) << file.reason;
    }
    EXPECT_THAT(paths, ::testing::ElementsAre("cut.nii", "cut.nii.gz", "cut_large.nii.gz", "empty.nii",
                                              "lies.nii.gz", "words.nii"));
  }
}

TEST(CheckFiles, FindsTheSameWhereNoTwoFilesFitTogether) {
  CaseFolder folder;
  for (int i = 0; i < 20; ++i) folder.volume("good" + std::to_string(i) + ".nii.gz");
  folder.file("cut.nii.gz", packed(NiftiBytes().whole()).substr(0, 100));
  DataConfig data;
  data.kind = "nifti";
  data.folder = folder.path().string();
  const Index index = make_index(data, 1);
  for (const uint64_t shared_bytes : {0, 600, 5000}) {
    const auto bad = check_files(index, Depth::full, shared_bytes);
    ASSERT_EQ(bad.size(), 1U) << shared_bytes;
    EXPECT_EQ(bad[0].path, "cut.nii.gz");
  }
}

TEST(CheckFiles, FindsWhatOnlyAFullReadingShows) {
  CaseFolder folder;
  std::string large = packed(large_volume());
  large[large.size() / 2] ^= 0x55;
  folder.file("spoilt.nii.gz", large);
  EXPECT_EQ(check(folder, Depth::full).size(), 1U);
}

TEST(CheckFiles, FindsArchivesThatAreCutShort) {
  CaseFolder folder;
  folder.archive("good.npz", {3, 4, 5}).archive("cut.npz", {3, 4, 5});
  const std::string whole = read_whole(folder.path() / "cut.npz");
  folder.file("cut.npz", whole.substr(0, whole.size() - 10));
  for (const Depth depth : {Depth::header, Depth::full}) {
    const auto bad = check(folder, depth, "npz");
    ASSERT_EQ(bad.size(), 1U);
    EXPECT_EQ(bad[0].path, "cut.npz");
  }
}

TEST(LooksSound, KnowsGoodFilesWithoutReadingThemWhole) {
  CaseFolder folder;
  folder.volume("a.nii").volume("b.nii.gz").archive("c.npz", {2, 3}).file("d.nii.gz", packed(large_volume()));
  for (const char* name : {"a.nii", "b.nii.gz", "c.npz", "d.nii.gz"})
    EXPECT_TRUE(looks_sound(folder.path() / name)) << name;
  EXPECT_FALSE(looks_sound(folder.path() / "absent.nii"));
  EXPECT_FALSE(looks_sound(folder.path()));
}

TEST(LooksSound, KnowsEveryRealBrainVolume) {
  const auto images = testing::shared_data();
  if (images.empty()) GTEST_SKIP() << "the folder of real images is not on this machine";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(images / "brain")) {
    if (!entry.is_regular_file()) continue;
    EXPECT_TRUE(looks_sound(entry.path())) << entry.path();
  }
}

}  // namespace
}  // namespace larmor
