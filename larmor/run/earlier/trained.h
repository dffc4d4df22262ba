// A trained network taken from a run: which checkpoint, which of its weights, and the task that holds them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <c10/core/Device.h>

#include "larmor/checkpoint/checkpoint.h"
#include "larmor/plan/kinds.h"
#include "larmor/run/loaded_stage.h"
#include "larmor/run/run_folder.h"

namespace larmor {

/// "best", "last", a name or a path, as --checkpoint says; verified. Best and last are what the manifests
/// say, whatever the links point to; where it is not quite what was asked for, a warning says so. Throws
/// Error: checkpoint when it is damaged, usage when there is none.
CheckpointEntry choose_checkpoint(const RunFolder& folder, const std::string& choice, bool lower_is_better);

/// The last weights of a checkpoint's step, their average, or what the stage predicts by (an average only
/// where the checkpoint has one).
enum class WeightChoice : uint8_t { live, average, of_stage };

/// Whether the average is meant. Throws nothing: a wish that cannot be met is read_weights()' to refuse.
bool takes_average(WeightChoice choice, const Stage& stage, const CheckpointEntry& checkpoint);

struct TrainedOptions {
  std::string checkpoint = "best";
  WeightChoice weights = WeightChoice::of_stage;
  c10::Device device{c10::kCPU};
  Precision precision = Precision::fp32;
};

struct TrainedTask {
  LoadedStage loaded;
  CheckpointEntry checkpoint;
  bool average = false;        // whether its weights are
  std::unique_ptr<Task> task;  // weights and its own state loaded, evaluation mode, placed
};
/// The run's stage with `overrides` (key=value) on top of its config. Throws Error as choose_checkpoint() and
/// read_weights().
TrainedTask load_trained(const RunFolder& folder, const Workload& workload,
                         const std::vector<std::string>& overrides, const TrainedOptions& options);
/// The same without the task, which each rank that is a thread has of its own.
TrainedTask choose_trained(const RunFolder& folder, const Workload& workload,
                           const std::vector<std::string>& overrides, const TrainedOptions& options);
/// TrainedTask::task, placed as place() does it before its weights are read: those of a run in float64 lose
/// nothing. Thread-safe. Throws Error as read_weights().
std::unique_ptr<Task> task_of(const TrainedTask& trained, const RunFolder& folder, c10::Device device,
                              Precision precision);

}  // namespace larmor
