#include "larmor/formats/text_header/text_header_volume.h"

#include <memory>

#include <ATen/ops/arange.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/text.h"
#include "larmor/formats/quick_check.h"
#include "larmor/formats/volume.h"

#include "tests/support/cases.h"
#include "tests/support/image_files.h"

namespace larmor {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::metaimage_file;
using testing::nrrd_file;
using testing::packed;
using testing::zlib_packed;

std::string counting_voxels(bool big_endian) {
  std::string bytes;
  for (int16_t value = 0; value < 24; ++value) bytes += testing::published(value, big_endian);
  return bytes;
}

class TextHeaderVolumes : public ::testing::Test {
 protected:
  std::filesystem::path put(const std::string& name, const std::string& bytes) {
    testing::write_file(scratch_.path() / name, bytes);
    return scratch_.path() / name;
  }
  void expect_counting(const std::filesystem::path& path) {
    const Volume volume = read_volume(path);
    ASSERT_EQ(volume.voxels.sizes(), (std::vector<int64_t>{1, 2, 3, 4})) << path;
    EXPECT_TRUE(volume.voxels[0].permute({2, 1, 0}).flatten().equal(at::arange(24, at::kFloat))) << path;
    const Affine expected = {{{0, 1, 0, -10}, {-2, 0, 0, -20}, {0, 0, 3, 30}, {0, 0, 0, 1}}};
    EXPECT_EQ(volume.affine, expected);
    EXPECT_TRUE(looks_sound(path)) << path;
  }
  void expect_refused(const std::filesystem::path& path, const std::string& reason) {
    const auto error = testing::error_of([&] { read_volume(path); });
    ASSERT_TRUE(error) << path << " is read; expected: " << reason;
    EXPECT_EQ(error->exit(), Exit::data);
    EXPECT_THAT(error->message(), HasSubstr(path.filename().string()));
    EXPECT_THAT(error->message(), HasSubstr(reason));
    EXPECT_FALSE(looks_sound(path)) << path;
    EXPECT_FALSE(inspect_file(path).readable);
  }
  ScratchFolder scratch_;
};

TEST_F(TextHeaderVolumes, AreReadInEveryByteOrderAndPacking) {
  for (const bool big : {false, true}) {
    const std::string voxels = counting_voxels(big);
    expect_counting(put("a.nrrd", nrrd_file(big, "raw", "") + voxels));
    expect_counting(put("b.nrrd", nrrd_file(big, "gzip", "") + packed(voxels)));
    expect_counting(put("called otherwise.nii", nrrd_file(big, "gz", "") + packed(voxels)));
    expect_counting(put("c.mha", metaimage_file(big, "") + voxels));
    const std::string zlib = zlib_packed(voxels);
    expect_counting(put(
        "d.mha",
        metaimage_file(big, text("CompressedData = True\nCompressedDataSize = ", zlib.size(), '\n')) + zlib));
  }
}

TEST_F(TextHeaderVolumes, AreReadFromAFileBesideTheirHeader) {
  const std::string voxels = counting_voxels(false);
  put("a.raw", voxels);
  put("a.raw.gz", packed("xy" + voxels));
  put("a.zraw", zlib_packed(voxels));
  put("lines", "one\ntwo\n" + voxels);
  expect_counting(put("a.nhdr", nrrd_file(false, "raw", "data file: a.raw\n")));
  expect_counting(put("b.nhdr", nrrd_file(false, "gzip", "data file: ./a.raw.gz\nbyte skip: 2\n")));
  expect_counting(put("c.nhdr", nrrd_file(false, "raw", "data file: lines\nbyte skip: -1\n")));
  EXPECT_EQ(read_volume(put("d.nhdr", nrrd_file(false, "raw", "data file: lines\nline skip: 2\n")))
                .voxels.max()
                .item<float>(),
            23);
  expect_counting(put("a.mhd", metaimage_file(false, "", "a.raw")));
  expect_counting(put("b.mhd", metaimage_file(false, "HeaderSize = 8\n", "lines")));
  expect_counting(put("c.mhd", metaimage_file(false, "HeaderSize = -1\n", "lines")));
  EXPECT_EQ(read_volume(put("d.mhd", metaimage_file(false, "CompressedData = True\n", "a.zraw")))
                .voxels.max()
                .item<float>(),
            23);
  EXPECT_EQ(voxels_beside(scratch_.path() / "b.nhdr"), scratch_.path() / "a.raw.gz");
  EXPECT_EQ(voxels_beside(scratch_.path() / "a.mhd"), scratch_.path() / "a.raw");
  EXPECT_EQ(voxels_beside(scratch_.path() / "a.raw"), std::nullopt);
  EXPECT_EQ(voxels_beside(scratch_.path() / "absent.mhd"), std::nullopt);
  EXPECT_EQ(voxels_beside(put("e.nrrd", nrrd_file(false, "raw", "") + std::string(20'000, 'x'))),
            std::nullopt);
}

TEST_F(TextHeaderVolumes, HaveTheirChannelsInFrontWhereverTheFileHasThem) {
  const std::string voxels = counting_voxels(false);
  const std::string order = "ElementType = MET_SHORT\nBinaryDataByteOrderMSB = False\n";
  const Volume first = read_volume(put("a.mha", "NDims = 3\nDimSize = 2 3 2\nElementNumberOfChannels = 2\n" +
                                                    order + "ElementDataFile = LOCAL\n" + voxels));
  ASSERT_EQ(first.voxels.sizes(), (std::vector<int64_t>{2, 2, 3, 2}));
  EXPECT_EQ(first.voxels[1][0][0][0].item<float>(), 1);
  EXPECT_EQ(first.voxels[0][1][0][0].item<float>(), 2);
  const Volume last = read_volume(
      put("b.mha", "NDims = 4\nDimSize = 2 3 2 2\n" + order + "ElementDataFile = LOCAL\n" + voxels));
  ASSERT_EQ(last.voxels.sizes(), (std::vector<int64_t>{2, 2, 3, 2}));
  EXPECT_EQ(last.voxels[1][0][0][0].item<float>(), 12);
}

TEST_F(TextHeaderVolumes, AreRefusedWhereVoxelsAreMissingOrDamaged) {
  const std::string voxels = counting_voxels(false), nrrd = nrrd_file(false, "raw", ""),
                    zlib = zlib_packed(voxels);
  expect_refused(put("a.nrrd", nrrd + voxels.substr(1)), "cut short");
  expect_refused(put("b.nrrd", nrrd + voxels + voxels), "more lie behind");
  expect_refused(put("c.nrrd", nrrd_file(false, "gzip", "") + packed(voxels).substr(0, 30)),
                 "damaged or cut short");
  expect_refused(put("d.nrrd", nrrd_file(false, "raw", "byte skip: 100\n") + voxels),
                 "than its header skips");
  expect_refused(put("e.nrrd", nrrd_file(false, "raw", "line skip: 9\n") + voxels),
                 "lines that its header skips");
  expect_refused(put("f.nhdr", nrrd_file(false, "raw", "data file: absent.raw\n")),
                 "absent.raw, which is not there");
  std::filesystem::create_directory(scratch_.path() / "folder.raw");
  expect_refused(put("g.mhd", metaimage_file(false, "", "folder.raw")), "folder");
  expect_refused(
      put("h.mha", metaimage_file(false, "CompressedData = True\nCompressedDataSize = 9999\n") + zlib),
      "cut short");
  std::string damaged = zlib;
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  expect_refused(put("i.mha", metaimage_file(false, "CompressedData = True\n") + damaged), "check sum");
  expect_refused(put("j.mha", metaimage_file(false, "CompressedData = True\n") + "no zlib data"), "zlib");
  expect_refused(put("k.mha", metaimage_file(false, "CompressedData = True\n") + zlib_packed(voxels + "x")),
                 "does not give");
  expect_refused(put("l.mha", metaimage_file(false, "", "LOCAL", "600 600 700") + voxels), "cut short");
  expect_refused(
      put("m.mha", metaimage_file(false, "CompressedData = True\n", "LOCAL", "600 600 700") + zlib),
      "cannot give");
  expect_refused(put("n.mha", metaimage_file(false, "", "LOCAL", "60000 60000 70000") + voxels), "more than");
  expect_refused(put("o.mha", metaimage_file(false, "", "LOCAL", "0 3 4") + voxels), "not possible");
}

TEST_F(TextHeaderVolumes, WithVoxelsThatAreNotFiniteAreBadFiles) {
  const std::string voxels =
      testing::published(1.0F) + testing::published(std::numeric_limits<float>::quiet_NaN());
  const auto path = put("a.mha",
                        "NDims = 2\nDimSize = 2 1\nElementType = MET_FLOAT\nBinaryDataByteOrderMSB = False\n"
                        "ElementDataFile = LOCAL\n" +
                            voxels);
  const auto error = testing::error_of([&] { read_volume(path); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr("NaN or infinite"));
}

TEST_F(TextHeaderVolumes, AreInspectedWithWhatWasTakenForThem) {
  const FileReport report = inspect_file(put("a.mha",
                                             "NDims = 3\nDimSize = 2 3 4\nElementType = MET_UCHAR\n"
                                             "ElementDataFile = LOCAL\n" +
                                                 std::string(24, '\7') + "rest"));
  EXPECT_TRUE(report.readable);
  EXPECT_EQ(report.dtype, "uint8");
  EXPECT_THAT(report.problems, Contains(HasSubstr("4 bytes behind the voxels")));
  EXPECT_THAT(report.problems, Contains(HasSubstr("no ElementSpacing")));
}

}  // namespace
}  // namespace larmor
