// The chain of MONAI's 3-D latent diffusion tutorial on four real heads, stage by stage, against what
// MONAI 1.6.1 gave.
#include <cmath>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/hash.h"
#include "larmor/device/tensors/tensor_file.h"
#include "larmor/formats/volume.h"
#include "larmor/transforms/transforms.h"

#include "tests/support/image_files.h"

namespace larmor {
namespace {

struct Head {
  const char* name;
  const char* path;
};

class PreprocessingGolden : public ::testing::TestWithParam<Head> {
 protected:
  void SetUp() override {
    if (testing::shared_data().empty()) GTEST_SKIP() << "the folder of real images is not on this machine";
    golden_ =
        read_tensors(testing::golden_file(std::string("preprocess_") + GetParam().name + ".safetensors"));
  }

  double number(const std::string& key) const { return golden_.at(key).item<double>(); }

  std::string golden_hash(const std::string& stage) const {
    std::string digits;
    const at::Tensor bytes = golden_.at(stage + "/sha256_of_float32_c_order").to(at::kLong);
    for (int64_t i = 0; i < bytes.numel(); ++i) {
      char pair[3];
      std::snprintf(pair, sizeof pair, "%02x", bytes[i].item<int>());
      digits += pair;
    }
    return digits;
  }

  void expect_place(const std::string& stage, const Volume& volume) const {
    const at::Tensor shape = golden_.at(stage + "/shape").to(at::kLong),
                     affine = golden_.at(stage + "/affine").to(at::kDouble);
    // MONAI has no channel axis yet after loading: the axes of space come first there, last later.
    const int64_t first = stage.starts_with('1') ? 0 : 1;
    for (int64_t axis = 0; axis < 3; ++axis) {
      EXPECT_EQ(volume.voxels.size(axis + 1), shape[first + axis].item<int64_t>());
    }
    for (int64_t row = 0; row < 4; ++row) {
      for (int64_t column = 0; column < 4; ++column) {
        EXPECT_NEAR(volume.affine[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)],
                    affine[row][column].item<double>(), 1e-5);
      }
    }
  }

  /// Bit for bit.
  void expect_equal(const std::string& stage, const Volume& volume) const {
    expect_place(stage, volume);
    const at::Tensor voxels = volume.voxels.contiguous();
    Sha256 hash;
    hash.update(
        std::as_bytes(std::span(voxels.const_data_ptr<float>(), static_cast<std::size_t>(voxels.numel()))));
    EXPECT_EQ(hash.hex(), golden_hash(stage)) << stage;
  }

  /// Within the rounding of float32, voxel by voxel in the centre and over the whole in sums.
  void expect_near(const std::string& stage, const Volume& volume, double relative) const {
    expect_place(stage, volume);
    const at::Tensor values = volume.voxels.contiguous().to(at::kDouble).flatten();
    const double range = number(stage + "/max") - number(stage + "/min");
    const at::Tensor centre = center_crop(volume, {32, 32, 32}).voxels;
    EXPECT_LE((centre - golden_.at(stage + "/crop32")).abs().max().item<double>(), relative * range) << stage;
    EXPECT_NEAR(values.min().item<double>(), number(stage + "/min"), relative * range);
    EXPECT_NEAR(values.max().item<double>(), number(stage + "/max"), relative * range);
    EXPECT_NEAR(values.sum().item<double>(), number(stage + "/sum"),
                relative * std::abs(number(stage + "/sum")));
    const double squares = number(stage + "/sum_of_squares");
    EXPECT_NEAR(values.square().sum().item<double>(), squares, relative * squares);
    const at::Tensor weights = at::arange(values.numel(), at::kLong).remainder(997).to(at::kDouble);
    const double weighted = number(stage + "/position_weighted_sum");
    EXPECT_NEAR((values * weights).sum().item<double>(), weighted, relative * std::abs(weighted));
  }

  NamedTensors golden_;
};

TEST_P(PreprocessingGolden, MatchesMonaiStageByStage) {
  Volume volume = read_volume(testing::shared_data() / GetParam().path);
  expect_equal("1_load", volume);
  volume = orient(volume, "RAS");
  expect_equal("2_orientation_ras", volume);
  volume = resample(volume, {1.1, 1.1, 1.1});
  expect_near("3_spacing_1p1", volume, 1e-5);
  volume = center_crop(volume, {112, 128, 80});
  expect_place("4_center_crop", volume);
  EXPECT_NEAR(volume.voxels.to(at::kDouble).sum().item<double>(), number("4_center_crop/sum"),
              1e-6 * std::abs(number("4_center_crop/sum")));
  const double range = number("4_center_crop/max") - number("4_center_crop/min");
  EXPECT_NEAR(percentile(volume.voxels, 0), number("4_center_crop/percentile_0"), 1e-6 * range);
  EXPECT_NEAR(percentile(volume.voxels, 99.5), number("4_center_crop/percentile_99p5"), 1e-6 * range);
  expect_near("5_percentile_scaled", scale_percentiles(volume, {0, 99.5, 0, 1, false}), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(
    Heads, PreprocessingGolden,
    ::testing::Values(
        Head{"open_ms_patient07_flair", "brain/open_ms_patient07/open_ms_patient07_flair.nii.gz"},
        Head{"cstar_stroke_t2", "brain/cstar_stroke/cstar_stroke_t2.nii.gz"},
        Head{"open_ms_long_patient20_T1W", "brain/open_ms_native/open_ms_long_patient20_study2_T1W.nii.gz"},
        Head{"colin27", "brain/colin27_talairach/colin27_talairach_t1.nii.gz"}),
    [](const auto& head) { return std::string(head.param.name); });

}  // namespace
}  // namespace larmor
