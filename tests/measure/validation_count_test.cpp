#include "larmor/measure/validation_count.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>

#include "larmor/base/files/file.h"
#include "larmor/formats/volume.h"

namespace larmor::testing {
namespace {

using Sizes = std::vector<int64_t>;

class PlainTask final : public Task {
 public:
  std::vector<Objective> objectives() override { return {{.name = "main", .network = network_.get()}}; }
  std::vector<at::Tensor> losses(const Batch&, const StepContext&) override { return {}; }
  void validate(const Batch&, Metrics&) override {}

 private:
  torch::nn::Linear network_{1, 1};
};

RunConfig phantoms_with(const char* chain) {
  RunConfig config;
  config.data.kind = "phantom";
  config.data.phantom_cases = 4;
  config.data.phantom_size = {40, 50, 60};
  config.data.split.train = config.data.split.val = 0.5;
  config.data.split.test = 0.0;
  config.data.transforms = parse_json(chain, "chain");
  return config;
}

Sizes largest_of(const char* chain) {
  const RunConfig config = phantoms_with(chain);
  return largest_case(config, make_index(config.data, 1));
}

TEST(LargestCase, HasTheSizeThatTransformsLeaveWithoutCropsOfTraining) {
  EXPECT_EQ(largest_of("[]"), (Sizes{40, 50, 60}));
  EXPECT_EQ(largest_of(R"([{"RandSpatialCrop": {"roi_size": [8, 8, 8]}}])"), (Sizes{40, 50, 60}));
  EXPECT_EQ(largest_of(R"([{"Spacing": {"pixdim": [2, 1, 0.5]}}])"), (Sizes{20, 50, 120}));
  EXPECT_EQ(largest_of(R"([{"Resized": {"spatial_size": [32, 32, 16]}}])"), (Sizes{32, 32, 16}));
  EXPECT_EQ(largest_of(R"([{"SpatialPad": {"spatial_size": [48, 48, 48]}}])"), (Sizes{48, 50, 60}));
}

/// A folder of NIfTI files of these sizes, of which nothing but headers is read.
class SizeOfExample : public ::testing::Test {
 protected:
  Sizes of(const std::vector<Sizes>& volumes, const char* chain, int64_t divisor = 1) {
    RunConfig config;
    config.data.folder = scratch_.path().string();
    config.data.kind = "nifti";
    config.data.split.train = 1;
    config.data.split.val = config.data.split.test = 0;
    config.data.transforms = parse_json(chain, "chain");
    DiskStorage storage;
    for (size_t i = 0; i < volumes.size(); ++i) {
      const auto patient = scratch_.path() / ("p" + std::to_string(i));
      storage.create_folders(patient);
      const Sizes& size = volumes[i];
      write_nifti(storage, patient / "t1.nii.gz", {.voxels = at::zeros({1, size[0], size[1], size[2]})});
    }
    return size_of_example(config, make_index(config.data, 1), {64, 64, 64}, divisor);
  }

 private:
  ScratchFolder scratch_;
};

TEST_F(SizeOfExample, IsThatOfTheLargestFileWhereNoCropSaysIt) {
  EXPECT_EQ(of({{20, 30, 10}, {40, 18, 26}, {8, 8, 8}}, "[]"), (Sizes{40, 18, 26}));
}

TEST_F(SizeOfExample, IsWhatTransformsLeaveOfIt) {
  EXPECT_EQ(of({{40, 18, 26}}, R"([{"Spacing": {"pixdim": [2, 1, 0.5]}}])"), (Sizes{20, 18, 52}));
  EXPECT_EQ(of({{40, 18, 26}}, R"([{"RandSpatialCrop": {"roi_size": [16, -1, 16]}}])"), (Sizes{16, 18, 16}));
}

TEST_F(SizeOfExample, IsAMultipleOfWhatTheNetworkNeeds) {
  EXPECT_EQ(of({{40, 18, 26}}, "[]", 8), (Sizes{40, 24, 32}));
}

TEST_F(SizeOfExample, IsAsConfiguredWhereACropOrVoxelsDecide) {
  const Sizes configured{64, 64, 64};
  EXPECT_EQ(of({{40, 18, 26}}, R"([{"RandSpatialCrop": {"roi_size": [16, 16, 16]}}])"), configured);
  EXPECT_EQ(of({{40, 18, 26}}, R"([{"CropForeground": {}}])"), configured);
  const RunConfig phantoms = phantoms_with("[]");
  EXPECT_EQ(size_of_example(phantoms, make_index(phantoms.data, 1), configured), configured);
}

/// A network that holds 3 volumes as large as its window, and a judgement that holds 2 of the case.
TEST(CountValidation, TellsTheWindowFromTheCase) {
  PlainTask task;
  Demand demand;
  const ValidationConfig validation{.roi_size = {10, 10, 10}};
  const auto judge = [](const at::Tensor& images) {
    const at::Tensor result = at::empty_like(images), sum = at::empty_like(images);
    const at::Tensor window = images.narrow(2, 0, 10).narrow(3, 0, 10).narrow(4, 0, 10);
    const at::Tensor maps = at::empty({3, 10, 10, 10}, images.options());
    EXPECT_EQ(window.numel(), 1000);
  };
  count_validation(task, /*channels=*/1, {20, 20, 20}, validation, judge, demand);
  constexpr int64_t of_window = 4 * (3 + 3) * 1000, of_case = 4 * (3 * 8000 + 3 * 1000);
  EXPECT_EQ(demand.validation_window_bytes, of_window);
  EXPECT_EQ(demand.validation_case_bytes, of_case - of_window);
  EXPECT_EQ(demand.validation_image_bytes, 4 * 8000);
}

TEST(CountSampling, TellsTheMostThatASampleKeeps) {
  PlainTask task;
  Demand demand;
  const auto sample = [] {
    const at::Tensor latent = at::empty({10, 10, 10}, at::kMeta);
    {
      const at::Tensor maps = at::empty({5, 10, 10, 10}, at::kMeta);
    }
    const at::Tensor image = at::empty({3, 10, 10, 10}, at::kMeta);
  };
  count_sampling(task, sample, demand);
  EXPECT_EQ(demand.validation_window_bytes, 4 * 6 * 1000);
  EXPECT_EQ(demand.validation_case_bytes + demand.validation_image_bytes, 0);
}

TEST(CountValidation, OfAJudgementThatLooksAtValuesIsNotKnown) {
  PlainTask task;
  Demand demand;
  count_validation(
      task, 1, {20, 20, 20}, {.roi_size = {10, 10, 10}},
      [](const at::Tensor& images) { images.sum().item<double>(); }, demand);
  EXPECT_EQ(demand.validation_window_bytes, 0);
  EXPECT_EQ(demand.validation_case_bytes, 0);
  EXPECT_EQ(demand.validation_image_bytes, 0);
}

}  // namespace
}  // namespace larmor::testing
