#include "larmor/formats/stored_volume.h"

#include <sys/stat.h>

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/formats/dicom/dicom_header.h"
#include "larmor/formats/quick_check.h"

#include "tests/support/cases.h"
#include "tests/support/dicom_files.h"
#include "tests/support/image_files.h"
#include "tests/support/picture_files.h"

namespace larmor {
namespace {

using testing::DicomBytes;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::NiftiBytes;
using testing::packed;

class OpenVolume : public ::testing::Test {
 protected:
  std::filesystem::path put(const std::string& name, const std::string& bytes) {
    testing::write_file(scratch_.path() / name, bytes);
    return scratch_.path() / name;
  }
  std::vector<int64_t> shape_of(const std::string& name, const std::string& bytes) {
    return open_volume(put(name, bytes)).array.shape;
  }
  ScratchFolder scratch_;
};

TEST_F(OpenVolume, GoesByContentAndNotByName) {
  EXPECT_THAT(shape_of("a.png", NiftiBytes().whole()), ElementsAre(2, 3, 4));
  EXPECT_THAT(shape_of("a.jpg", packed(NiftiBytes().whole())), ElementsAre(2, 3, 4));
  EXPECT_THAT(shape_of("a.nii", DicomBytes().whole()), ElementsAre(3, 2));
  EXPECT_THAT(shape_of("a.gz", packed(DicomBytes().whole())), ElementsAre(3, 2));
  EXPECT_THAT(shape_of("a.dcm", testing::jpeg_of(20, 10, 1)), ElementsAre(20, 10));
  EXPECT_THAT(shape_of("b.nii.gz", testing::png_of(2, 1, testing::PngKind::grey, 8, {1, 2})),
              ElementsAre(2, 1));
}

TEST_F(OpenVolume, KnowsWhoseHeaderCanBeKept) {
  EXPECT_TRUE(holds_nifti(put("a", NiftiBytes().whole())));
  EXPECT_FALSE(holds_nifti(put("b", DicomBytes().whole())));
  EXPECT_FALSE(holds_nifti(put("c", testing::jpeg_of(8, 8, 1))));
  EXPECT_FALSE(holds_nifti(scratch_.path()));
}

TEST_F(OpenVolume, RefusesAtOnceWhatWouldBeWaitedFor) {
  const std::filesystem::path fifo = scratch_.path() / "fifo.nii.gz";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(error_of([&] { open_volume(fifo); })->message(), HasSubstr("is a FIFO"));
  EXPECT_THAT(error_of([&] { open_volume("/dev/zero"); })->message(), HasSubstr("is a device"));
  EXPECT_FALSE(read_dicom_header(fifo));
  EXPECT_FALSE(looks_sound(fifo));
}

TEST_F(OpenVolume, KeepsTheShapeOfWhatHasNoVoxels) {
  const StoredVolume volume = open_volume(put("a", DicomBytes("1.2.840.10008.1.2.4.92").whole()));
  EXPECT_THAT(volume.array.shape, ElementsAre(3, 2));
  EXPECT_EQ(volume.dtype, "uint16");
  EXPECT_NE(volume.fault, "");
}

TEST_F(OpenVolume, RefusesWhatIsNothing) {
  EXPECT_TRUE(error_of([&] { open_volume(put("a", "words, no image")); }));
  EXPECT_TRUE(error_of([&] { open_volume(scratch_.path() / "absent"); }));
  EXPECT_TRUE(error_of([&] { open_volume(scratch_.path()); }));
}

}  // namespace
}  // namespace larmor
