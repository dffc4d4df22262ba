// A training step alone: forward, losses, backward, optimizer, on batches prepared beforehand, without
// loader, tracker or checkpoint.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "larmor/comm/communicator.h"
#include "larmor/measure/measured_step.h"
#include "larmor/task/stage.h"

namespace larmor {

class StepBenchmark {
 public:
  /// Prepares micro-batches of this rank's own, which steps take in turn. Borrows the communicator.
  /// Collective.
  StepBenchmark(const Stage& stage, const RunConfig& config, const Plan& plan, const Index& index,
                Communicator& communicator, int64_t batches = 4);
  ~StepBenchmark();

  /// Collective.
  void step();
  /// The same, kernel by kernel: a graph's replay shows no operator to whoever counts them. Collective.
  void step_without_graphs();
  /// The same, of two micro-batches where the plan accumulates, and what it took: on a CPU of the process, as
  /// far as start_memory_meter() counts it. The prepared batches are held before. Collective.
  MeasuredStep measured_step();
  /// The seconds since the last call in which collectives held this rank's steps up, be it because the
  /// exchange took longer than what hides it or because another rank came late.
  double take_seconds_held_up();
  double last_loss() const;
  /// [N, C, ...] of a batch's images; of its largest tensor where the stage's batches hold no "image".
  std::vector<int64_t> shape() const;
  int64_t batch_bytes() const;  // of one of them, on the device
  /// One of its examples as the dataset gives it, of shapes alone.
  const Sample& example() const;
  int64_t parameters() const;
  int64_t objectives() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace larmor
