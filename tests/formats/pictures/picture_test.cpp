#include "larmor/formats/pictures/picture.h"

#include <string>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/formats/quick_check.h"
#include "larmor/formats/volume.h"

#include "tests/support/cases.h"
#include "tests/support/image_files.h"
#include "tests/support/picture_files.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::jpeg_of;
using testing::png_of;
using testing::PngKind;

class Pictures : public ::testing::Test {
 protected:
  std::filesystem::path put(const std::string& name, const std::string& bytes) {
    testing::write_file(scratch_.path() / name, bytes);
    return scratch_.path() / name;
  }
  ScratchFolder scratch_;
};

TEST_F(Pictures, AreVolumesOfOneSliceWithTheColumnsFirst) {
  const Volume grey = read_volume(put("any.name", png_of(3, 2, PngKind::grey, 8, {0, 1, 2, 3, 4, 5})));
  EXPECT_EQ(grey.voxels.sizes(), (std::vector<int64_t>{1, 3, 2, 1}));
  EXPECT_EQ(grey.voxels[0][2][1][0].item<float>(), 5);
  EXPECT_EQ(grey.affine, identity_affine());
  const Volume colour = read_volume(put("c.png", png_of(1, 2, PngKind::rgb, 8, {1, 2, 3, 4, 5, 6})));
  EXPECT_EQ(colour.voxels.sizes(), (std::vector<int64_t>{3, 1, 2, 1}));
  EXPECT_EQ(colour.voxels[2][0][1][0].item<float>(), 6);
  EXPECT_EQ(read_volume(put("j.jpg", jpeg_of(20, 10, 3))).voxels.sizes(),
            (std::vector<int64_t>{3, 20, 10, 1}));
}

TEST_F(Pictures, AreReadInGreyAndSmallerWhenThatIsWanted) {
  const auto grey = put("g.png", png_of(4, 2, PngKind::grey, 8, {1, 3, 5, 7, 3, 5, 7, 9}));
  const Volume small = read_volume(grey, {.grey = true, .size = {2, 1}});
  EXPECT_EQ(small.voxels.sizes(), (std::vector<int64_t>{1, 2, 1, 1}));
  EXPECT_EQ(small.voxels[0][0][0][0].item<float>(), 3);
  EXPECT_EQ(small.voxels[0][1][0][0].item<float>(), 7);
  EXPECT_EQ(small.affine[0][0], 2);
  EXPECT_EQ(small.affine[0][3], 0.5) << "between the two columns that it was made of";
  EXPECT_EQ(small.affine[2][2], 1);
  const auto colours = put("c.png", png_of(1, 1, PngKind::rgb_alpha, 16, {10000, 20000, 30000, 7}));
  const Volume mixed = read_volume(colours, {.grey = true});
  EXPECT_EQ(mixed.voxels.sizes(), (std::vector<int64_t>{1, 1, 1, 1}));
  EXPECT_EQ(mixed.voxels.item<float>(), 18150) << "0.299 red, 0.587 green, 0.114 blue";
  EXPECT_EQ(read_volume(put("j.jpg", jpeg_of(20, 10, 3)), {.grey = true, .size = {5, 5}}).voxels.sizes(),
            (std::vector<int64_t>{1, 5, 5, 1}));
}

TEST_F(Pictures, AreReportedWithColumnsBeforeRows) {
  const FileReport report = inspect_file(put("a.png", png_of(3, 1, PngKind::grey, 16, {100, 200, 60000})));
  EXPECT_TRUE(report.readable);
  EXPECT_THAT(report.shape, ElementsAre(3, 1));
  EXPECT_EQ(report.dtype, "uint16");
  EXPECT_EQ(report.max, 60000);
  EXPECT_THAT(report.spacing_mm, ElementsAre(1, 1, 1));
}

TEST_F(Pictures, ThatAreDamagedNameTheFile) {
  const std::string file = jpeg_of(40, 40, 1);
  const auto path = put("x.jpg", file.substr(0, file.size() - 100));
  const auto error = error_of([&] { read_volume(path); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr("x.jpg: "));
  EXPECT_TRUE(error_of([&] { check_volume(path); }));
  EXPECT_FALSE(inspect_file(path).readable);
}

TEST_F(Pictures, LookSoundWhenTheyEndAsTheyShould) {
  const std::string png = png_of(3, 2, PngKind::grey, 8, {0, 1, 2, 3, 4, 5}), jpeg = jpeg_of(40, 40, 1);
  EXPECT_TRUE(looks_sound(put("a.png", png)));
  EXPECT_TRUE(looks_sound(put("a.jpg", jpeg)));
  EXPECT_FALSE(looks_sound(put("b.png", png.substr(0, png.size() - 1))));
  EXPECT_FALSE(looks_sound(put("b.jpg", jpeg.substr(0, jpeg.size() - 1))));
}

TEST_F(Pictures, CanBeWrittenAsNifti) {
  const auto path = put("c.png", png_of(1, 2, PngKind::rgb, 8, {1, 2, 3, 4, 5, 6}));
  DiskStorage storage;
  write_nifti(storage, scratch_.path() / "c.nii", read_volume(path), path);
  EXPECT_EQ(inspect_file(scratch_.path() / "c.nii").sha256, inspect_file(path).sha256);
}

}  // namespace
}  // namespace larmor
