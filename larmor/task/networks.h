// All networks of a task: those that learn and those that only take part.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "larmor/plan/kinds.h"
#include "larmor/task/task.h"

namespace larmor {

/// The objectives' networks in their order, then the companions; borrowed from the task.
std::vector<torch::nn::Module*> networks_of(Task& task);

/// The type of their weights: mixed precision keeps them float32 and narrows what it computes from them.
c10::ScalarType weight_type(Precision precision);

/// Moves all of them to the device, in weight_type(); companions are frozen and in evaluation mode from
/// then on.
void place(Task& task, c10::Device device, Precision precision);

/// Lays out the kernels of networks that are only evaluated from here on: the convolutions' kernels lie as
/// the layout has them, and are not brought into it again for every volume. Values and bits of the results
/// stay.
void lay_out_kernels(Task& task, Layout layout);

/// Companions cannot learn from here on, and are in evaluation mode.
void freeze_companions(Task& task);

/// All networks are in evaluation mode until the end of the scope; then each of their modules is in the mode
/// in which it was.
class EvaluationMode {
 public:
  explicit EvaluationMode(Task& task);
  ~EvaluationMode();
  EvaluationMode(const EvaluationMode&) = delete;
  EvaluationMode& operator=(const EvaluationMode&) = delete;

 private:
  std::vector<std::pair<std::shared_ptr<torch::nn::Module>, bool>> before_;
};

}  // namespace larmor
