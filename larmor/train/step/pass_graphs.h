// Micro-batches that a GPU launches as a whole. Where a task's pass is the same for every batch of a shape,
// its forward and backward are recorded once as a graph, and later micro-batches are copied to where it reads
// and replayed: the host launches one thing in place of some hundred kernels. What ranks do together
// (gradients that meet, weights that move) stays outside.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/task/pass.h"
#include "larmor/train/learner.h"

namespace larmor {

/// What forward and backward of a micro-batch have given.
struct ComputedPass {
  std::vector<at::Tensor> losses;  // as Task::losses() gives them
  std::vector<std::vector<at::Tensor>>
      gradients;  // by learner, for Parallelism::receive(); empty: not active
};

class PassGraphs {
 public:
  /// Borrows the task and the learners. `tell` gets a sentence when micro-batches are not, or no longer,
  /// replayed. Requires: the plan has graphs.
  PassGraphs(Task& task, const std::vector<Learner>& learners, const PassOptions& options, LossShare share,
             std::function<void(const std::string& words)> tell);
  ~PassGraphs();
  PassGraphs(const PassGraphs&) = delete;
  PassGraphs& operator=(const PassGraphs&) = delete;

  /// Null where the caller has to compute the micro-batch. Before a graph is replayed alone, one micro-batch
  /// is recorded and the next both replayed and computed plainly: where the two differ, and where something
  /// cannot be recorded, there are no graphs from then on. The result holds until the next call. Waits for
  /// the device where it records, and at no replay.
  const ComputedPass* compute(const Batch& batch, const StepContext& now, const std::vector<bool>& active);
  /// Every micro-batch is the caller's from here on; memory is given back.
  void stop(const std::string& why);

 private:
  struct Recorded;
  /// What has to be alike for a graph to be replayed.
  struct Kind {
    int64_t pass = 0;
    std::vector<bool> active;
    std::vector<std::tuple<std::string, c10::ScalarType, std::vector<int64_t>>> tensors;  // of the batch
    bool operator==(const Kind&) const = default;
  };

  std::optional<Kind> kind_of(const Batch& batch, const StepContext& now,
                              const std::vector<bool>& active) const;
  const ComputedPass* compute_plainly(const Batch& batch, const StepContext& now,
                                      const std::vector<bool>& active);
  ComputedPass pass(const Batch& batch, const StepContext& now, const std::vector<bool>& active,
                    const at::Tensor& keys);
  void record(const Batch& batch, const StepContext& now);
  void check(const Batch& batch, const StepContext& now);
  void set_loss_scales();
  void forget();

  Task& task_;
  const std::vector<Learner>& learners_;
  PassOptions options_;
  LossShare share_;
  std::function<void(const std::string&)> tell_;
  std::vector<std::vector<at::Tensor>> parameters_;  // by learner, those that learn
  std::vector<at::Tensor> scales_;                   // by learner, on the device; undefined without one
  std::vector<double> scales_there_;                 // what they hold
  std::optional<Kind> kind_;                         // of the latest micro-batch
  int64_t plain_passes_ = 0, kinds_ = 0;             // of this kind in a row; how often the kind has changed
  std::unique_ptr<Recorded> recorded_;
  ComputedPass plain_;
  bool is_stopped_ = false;
};

}  // namespace larmor
