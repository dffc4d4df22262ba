// The second stage's network, beside a coder that learns nothing any more.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "larmor/nn/blocks/block.h"
#include "larmor/train/task.h"

#include "tests/toy/coder/coder_task.h"

namespace larmor::toy {

class RefinerTask final : public Task {
 public:
  /// `coder` is a CoderTask, or null on c10::kMeta.
  RefinerTask(int64_t in_channels, int64_t channels, uint64_t seed, std::unique_ptr<Task> coder,
              c10::Device device = c10::kCPU);

  std::vector<Objective> objectives() override;
  std::vector<at::Tensor> losses(const Batch& batch, const StepContext& context) override;
  void validate(const Batch& batch, Metrics& metrics) override;
  /// What the coder rebuilds, and what is missing from it.
  Prediction predict(const Batch& inputs, const PredictionContext& context) override;

 private:
  at::Tensor refine(const at::Tensor& image);
  at::Tensor rebuilt(const at::Tensor& image);  // without gradient

  std::unique_ptr<Task> coder_;
  std::shared_ptr<nn::Chain> network_;
};

}  // namespace larmor::toy
