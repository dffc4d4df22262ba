// Radiographs and DICOM files of the shared folder, against what Pillow and pydicom say of them.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"
#include "larmor/data/index/index.h"
#include "larmor/formats/quick_check.h"
#include "larmor/formats/volume.h"

#include "tests/support/cases.h"
#include "tests/support/image_files.h"

namespace larmor {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::shared_data;

/// Made by tests/peers/picture_file.py and dicom_file.py.
Json expected_formats() {
  const char* source = std::getenv("LARMOR_SOURCE");
  const std::filesystem::path root = source == nullptr ? "." : source;
  return read_json(root / "tests" / "formats" / "fixtures" / "real_formats.json");
}

class RealFormats : public ::testing::Test {
 protected:
  void SetUp() override {
    if (shared_data().empty()) GTEST_SKIP() << "the folder of real images is not on this machine";
  }
};

TEST_F(RealFormats, AreReadAsPillowAndPydicomReadThem) {
  for (const Json& expected : expected_formats()) {
    const auto path = expected.at("path").get<std::string>();
    SCOPED_TRACE(path);
    const FileReport report = inspect_file(shared_data() / path);
    EXPECT_TRUE(report.readable) << ::testing::PrintToString(report.problems);
    EXPECT_EQ(report.shape, expected.at("shape").get<std::vector<int64_t>>());
    EXPECT_EQ(report.sha256, expected.at("sha256").get<std::string>());
    const auto number = [&](const char* key) { return expected.at(key).get<double>(); };
    EXPECT_NEAR(report.min, number("min"), 1e-6 * std::abs(number("min")));
    EXPECT_NEAR(report.max, number("max"), 1e-6 * std::abs(number("max")));
    EXPECT_NEAR(report.mean, number("mean"), 1e-6 * std::max(1.0, std::abs(number("mean"))));
    if (!expected.contains("first_voxel")) continue;
    std::array<double, 3> last{};
    for (std::size_t axis = 0; axis < std::min<std::size_t>(3, report.shape.size()); ++axis)
      last[axis] = static_cast<double>(report.shape[axis] - 1);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      EXPECT_NEAR(report.spacing_mm[axis], expected.at("spacing_mm")[axis].get<double>(), 1e-6);
      EXPECT_NEAR(position(report.affine, {})[axis], expected.at("first_voxel")[axis].get<double>(), 1e-4);
      EXPECT_NEAR(position(report.affine, last)[axis], expected.at("last_voxel")[axis].get<double>(), 1e-4);
    }
  }
}

TEST_F(RealFormats, OfOneImageInNineEncodingsGiveEqualPixels) {
  const auto folder = shared_data() / "dicom" / "one_image_nine_encodings";
  const at::Tensor mosaic = read_volume(folder / "1_explicit_le.dcm").voxels[0].squeeze(-1);  // [X, Y]
  const Volume expected = read_volume(folder / "expected_from_dcm2niix.nii");
  for (int64_t slice = 0; slice < 35; ++slice) {
    const at::Tensor tile = mosaic.narrow(0, slice % 6 * 64, 64).narrow(1, slice / 6 * 64, 64);
    ASSERT_TRUE(at::equal(tile.flip(1), expected.voxels[0].select(2, slice))) << "slice " << slice;
  }
  for (const char* name :
       {"2_implicit_le", "3_explicit_be", "4_rle", "5_jpeg_lossless_sv1_dcmtk", "6_jpeg_lossless_sv1_gdcm",
        "7_jpegls_gdcm", "8_jpegls_dcmtk", "9_jpeg2000_lossless"}) {
    EXPECT_TRUE(at::equal(read_volume(folder / text(name, ".dcm")).voxels[0].squeeze(-1), mosaic)) << name;
  }
}

TEST_F(RealFormats, OfCompressedFramesAreThePlainOnes) {
  const auto folder = shared_data() / "dicom" / "pydicom_single";
  const auto hash = [&](const char* name) { return inspect_file(folder / name).sha256; };
  EXPECT_EQ(hash("emri_small_RLE.dcm"), hash("emri_small.dcm"));
  EXPECT_EQ(hash("emri_small_jpeg_ls_lossless.dcm"), hash("emri_small.dcm"));
  EXPECT_EQ(hash("emri_small_jpeg_2k_lossless.dcm"), hash("emri_small.dcm"));
  EXPECT_EQ(hash("liver_deflate.dcm"), hash("liver.dcm"));
}

TEST_F(RealFormats, OfJpeg2000InSeveralPiecesAreWholeSmoothPictures) {
  const struct {
    const char* name;
    std::vector<int64_t> shape;
  } rows[] = {{"RG1_J2KI.dcm", {1, 1841, 1955, 1}}, {"MR2_J2KI.dcm", {1, 1024, 1024, 1}}};
  for (const auto& [name, shape] : rows) {
    const at::Tensor image = read_volume(shared_data() / "dicom" / "pydicom_single" / name).voxels;
    EXPECT_EQ(image.sizes(), at::IntArrayRef(shape)) << name;
    // A coefficient at a wrong place shows as edges everywhere; 64 rows of zeros as a piece that is missing.
    EXPECT_LT(image.diff(1, 1).abs().mean().item<double>(), 0.2 * image.std().item<double>()) << name;
    EXPECT_LT(image.diff(1, 2).abs().mean().item<double>(), 0.2 * image.std().item<double>()) << name;
    EXPECT_GT(image.slice(2, shape[2] / 2).std().item<double>(), 0.3 * image.std().item<double>()) << name;
  }
}

TEST_F(RealFormats, ThatCannotBeImagesAreRefusedByReason) {
  const struct {
    const char* path;
    const char* reason;
  } rows[] = {
      {"dicom/nibabel_single/csa_slice_norm.dcm", "no pixels"},
      {"dicom/pydicom_single/emri_small_jpeg_2k_lossless_too_short.dcm", "is cut short"},
      {"dicom/one_image_nine_encodings", "several DICOM series"},
      {"cxr/hannover", "holds no DICOM images"},
  };
  for (const auto& [path, reason] : rows) {
    const auto error = error_of([&file = path] { read_volume(shared_data() / file); });
    ASSERT_TRUE(error) << path;
    EXPECT_EQ(error->exit(), Exit::data);
    EXPECT_THAT(error->message(), HasSubstr(reason)) << path;
  }
}

TEST_F(RealFormats, AreIndexedBySeries) {
  DataConfig data;
  data.kind = "dicom";
  data.folder = (shared_data() / "ct").string();
  const Index chest = make_index(data, 1);
  ASSERT_EQ(chest.cases.size(), 1U);
  EXPECT_EQ(chest.cases[0].files.at("image"), "lung_dx_A0002_chest_dicom");
  EXPECT_TRUE(looks_sound(chest.folder / chest.cases[0].files.at("image")));
  EXPECT_TRUE(check_files(chest, Depth::full).empty());
}

}  // namespace
}  // namespace larmor
