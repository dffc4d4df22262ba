// The network, its loss, and how it is judged.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "larmor/nn/blocks/block.h"
#include "larmor/task/task.h"

namespace larmor::new_workload {

class SharpenTask final : public Task {
 public:
  /// New weights are drawn from `seed`; none on c10::kMeta, where the planner counts.
  SharpenTask(int64_t channels, uint64_t seed, c10::Device device);

  std::vector<Objective> objectives() override;
  std::vector<at::Tensor> losses(const Batch& batch, const StepContext& context) override;
  /// Metric loss, the mean absolute difference from the sharp image.
  void validate(const Batch& batch, Metrics& metrics) override;
  Prediction predict(const Batch& inputs, const PredictionContext& context) override;
  /// image [N, 1, D, H, W].
  at::Tensor sharpen(const at::Tensor& image);

 private:
  std::shared_ptr<nn::Chain> network_;
};

}  // namespace larmor::new_workload
