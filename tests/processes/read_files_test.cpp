// What the libraries that people use read in radiographs, DICOM, NRRD and MetaImage files, beside what
// `inspect` says of them. Needs LARMOR_ORACLES, and but for the last two the folder of real images.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/processes/support/oracle.h"
#include "tests/processes/support/program_run.h"

namespace larmor::testing {
namespace {

class ReadFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_oracles()) GTEST_SKIP() << "LARMOR_ORACLES names no Python environment";
    if (shared_data().empty()) GTEST_SKIP() << "the folder of real images is not on this machine";
  }

  static void expect_alike(const std::string& script, const std::filesystem::path& file) {
    SCOPED_TRACE(file);
    const Json theirs = ask_oracle(script, file);
    const Json ours = larmor_program({"inspect", file.string(), "--json"}).json().at(0);
    for (const char* key : {"shape", "sha256"}) EXPECT_EQ(ours[key], theirs[key]) << key;
    if (!theirs.contains("spacing_mm")) return;
    for (size_t axis = 0; axis < 3; ++axis) {
      EXPECT_NEAR(ours["spacing_mm"][axis].get<double>(), theirs["spacing_mm"][axis].get<double>(), 1e-6);
      EXPECT_NEAR(ours["affine"][axis][3].get<double>(), theirs["first_voxel"][axis].get<double>(), 1e-4);
    }
  }
};

TEST_F(ReadFiles, PillowReadsTheSamePictures) {
  size_t files = 0;
  for (const auto& item : std::filesystem::recursive_directory_iterator(shared_data() / "cxr")) {
    const std::string ending = item.path().extension();
    if (ending != ".png" && ending != ".jpg") continue;
    expect_alike("picture_file.py", item.path());
    ++files;
  }
  EXPECT_GT(files, 20U);
}

TEST_F(ReadFiles, PydicomReadsTheSameVolumes) {
  for (const char* name : {"ct/lung_dx_A0002_chest_dicom", "dicom/papaya_mr_pd_series"})
    expect_alike("dicom_file.py", shared_data() / name);
  for (const char* name :
       {"emri_small.dcm", "emri_small_RLE.dcm", "liver.dcm", "parametric_map_float.dcm", "color-px.dcm"})
    expect_alike("dicom_file.py", shared_data() / "dicom" / "pydicom_single" / name);
  for (const char* name : {"0.dcm", "decimal_rescale.dcm", "siemens_dwi_0.dcm.gz", "philips_mprage.dcm.gz"})
    expect_alike("dicom_file.py", shared_data() / "dicom" / "nibabel_single" / name);
}

TEST(FilesForItk, AreReadAsItReadsThem) {
  if (!has_oracles()) GTEST_SKIP() << "LARMOR_ORACLES names no Python environment";
  const ScratchFolder scratch;
  const Json theirs = ask_oracle("itk_files.py", scratch.path());
  std::vector<std::string> words{"inspect"};
  for (const Json& one : theirs) words.push_back(one["path"]);
  words.emplace_back("--json");
  const Json ours = larmor_program(words).json();
  ASSERT_EQ(ours.size(), theirs.size());
  EXPECT_GT(theirs.size(), 150U);
  for (size_t i = 0; i < theirs.size(); ++i) {
    SCOPED_TRACE(theirs[i]["path"]);
    for (const char* key : {"path", "shape", "sha256"}) EXPECT_EQ(ours[i][key], theirs[i][key]) << key;
    for (size_t row = 0; row < 4; ++row)
      for (size_t column = 0; column < 4; ++column)
        EXPECT_NEAR(ours[i]["affine"][row][column].get<double>(),
                    theirs[i]["affine"][row][column].get<double>(), 1e-9);
  }
}

}  // namespace
}  // namespace larmor::testing
