// Small files of the shared folder that were crafted to be believed: what is wrong in each is said.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/formats/volume.h"

#include "tests/support/cases.h"
#include "tests/support/shared_data.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;

class CraftedInputs : public ::testing::Test {
 protected:
  void SetUp() override {
    if (testing::shared_data().empty() || !std::filesystem::exists(folder()))
      GTEST_SKIP() << "shared/repro/robust is not on this machine";
  }
  static std::filesystem::path folder() { return testing::shared_data().parent_path() / "repro" / "robust"; }
};

TEST_F(CraftedInputs, AreRefusedForWhatIsWrongInThem) {
  const struct {
    const char *name, *reason;
  } rows[] = {{"inter-word.dcm", "RescaleIntercept (0028,1052) is no number"},
              {"slope-comma.dcm", "RescaleSlope (0028,1053) is no number"},
              {"slope-word.dcm", "RescaleSlope (0028,1053) is no number"},
              {"slope-two.dcm", "RescaleSlope (0028,1053) holds 2 numbers, not 1"},
              {"photo-broken.dcm", "PhotometricInterpretation (0028,0004) is no code word"},
              {"sign2.dcm", "PixelRepresentation (0028,0103) is 2, not 0 or 1"},
              {"rgb-planar2.dcm", "PlanarConfiguration (0028,0006) is 2, not 0 or 1"},
              {"more-pixels.dcm", "are left over"},
              {"int16-times-1e37.nii", "NaN or infinite"},
              {"float16-nan.npy", "NaN or infinite"},
              {"n-f64-big.nii", "NaN or infinite"},
              {"bool-of-255.npy", "truth values (b1) that are neither 0 nor 1"},
              {"progressive-spliced.jpg", "extraneous bytes"},
              {"rle-noend.dcm", ""},
              {"wrap.dcm", "more than the 262144"}};
  for (const auto& [name, reason] : rows) {
    const auto error = testing::error_of([&file = name] { read_volume(folder() / file); });
    ASSERT_TRUE(error) << name;
    EXPECT_EQ(error->exit(), Exit::data);
    EXPECT_THAT(error->message(), HasSubstr(reason)) << name;
    const FileReport report = inspect_file(folder() / name);
    EXPECT_FALSE(report.problems.empty()) << name;
  }
}

TEST_F(CraftedInputs, ThatAreWholeAreRead) {
  for (const char* name : {"huffman-good.jpg", "n-aff-zero.nii"})
    EXPECT_NO_THROW(read_volume(folder() / name)) << name;
}

}  // namespace
}  // namespace larmor
