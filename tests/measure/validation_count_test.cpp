#include "larmor/measure/validation_count.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>

namespace larmor::testing {
namespace {

class PlainTask final : public Task {
 public:
  std::vector<Objective> objectives() override { return {{.name = "main", .network = network_.get()}}; }
  std::vector<at::Tensor> losses(const Batch&, const StepContext&) override { return {}; }
  void validate(const Batch&, Metrics&) override {}

 private:
  torch::nn::Linear network_{1, 1};
};

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
