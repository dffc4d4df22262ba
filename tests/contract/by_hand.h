// What a loop that is written by hand shares with the run that it is held against: the words of a plain
// training, whole batches, libtorch's optimizers. Nothing of the trainer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <torch/optim/optimizer.h>

#include "larmor/data/loader/order.h"

#include "tests/contract/trial_run.h"

namespace larmor::testing {

struct PlainTraining {
  int64_t batch, steps;
  double rate;
  bool in_doubles;  // float64 and Adam, or float32 and SGD

  at::ScalarType type() const { return in_doubles ? at::kDouble : at::kFloat; }
  /// For a run: a constant rate, no decay, no clipping, no validation.
  std::vector<std::string> words(const std::string& strategy, int64_t accumulation) const;
  std::unique_ptr<torch::optim::Optimizer> optimizer(const std::vector<at::Tensor>& parameters,
                                                     double rate_factor = 1, double weight_decay = 0) const;
};

/// Whole batches of a run's training examples, one a step, in the type of the training.
class WholeBatches {
 public:
  WholeBatches(const LoadedStage& loaded, const Index& index, const PlainTraining& training);
  Batch of_step(int64_t step) const;

 private:
  std::shared_ptr<const Dataset> cases_;
  ExampleOrder order_;
  PlainTraining training_;
};

}  // namespace larmor::testing
