// A step that is small enough to count by hand.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <ATen/ops/empty.h>
#include <torch/nn/modules/linear.h>

#include "larmor/task/task.h"

namespace larmor::testing {

/// One linear layer from eight numbers to `outputs`, and what `look` makes of its output.
class LinearTask final : public Task {
 public:
  using Look = std::function<at::Tensor(const at::Tensor&)>;
  LinearTask(int64_t outputs, Look look) : layer_(8, outputs), look_(std::move(look)) {}
  std::vector<Objective> objectives() override { return {{"linear", layer_.get()}}; }
  std::vector<at::Tensor> losses(const Batch& batch, const StepContext&) override {
    return {look_(layer_(batch.at("image")))};
  }
  void validate(const Batch&, Metrics&) override {}

 private:
  torch::nn::Linear layer_;
  Look look_;
};

inline Sample eight_numbers() { return {{"image", at::empty({8})}}; }

}  // namespace larmor::testing
