#include "larmor/run/earlier/checkpoint_weights.h"

#include <algorithm>

#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/checkpoint/state_parts.h"
#include "larmor/device/module_state.h"
#include "larmor/task/networks.h"

namespace larmor {

namespace {

constexpr const char* model_file = "model.safetensors";
constexpr const char* average_file = "ema.safetensors";

}  // namespace

std::string weights_file(const std::string& objective, bool is_first) {
  return is_first ? model_file : text("model.", objective, ".safetensors");
}

std::string averages_file(const std::string& objective, bool is_first) {
  return is_first ? average_file : text("ema.", objective, ".safetensors");
}

void require_undamaged(const CheckpointEntry& entry) {
  if (entry.ok) return;
  fail(Exit::checkpoint,
       text("the checkpoint ", entry.folder.string(),
            " is not what it was when the run started: ", entry.reason),
       "start again: the run goes on from the newest whole one. Where only some hosts see the damage, look "
       "at their disks");
}

void begin_with(const CheckpointEntry& entry, bool average, Task& task) {
  require_undamaged(entry);
  bool is_first = true;
  for (const auto& objective : task.objectives()) {
    const auto weights = is_first ? read_weights(entry, average)
                                  : read_checkpoint_file(entry, weights_file(objective.name, is_first));
    const bool in_doubles =
        std::ranges::any_of(weights, [](const auto& one) { return one.second.scalar_type() == at::kDouble; });
    if (is_first && in_doubles) place(task, c10::kCPU, Precision::fp64);
    load_state_dict(*objective.network, weights);
    is_first = false;
  }
  restore_task(entry, task, average);
}

void restore_task(const CheckpointEntry& entry, Task& task, bool of_average) {
  NamedTensors own;
  if (has_checkpoint_file(entry, "task.safetensors")) own = read_checkpoint_file(entry, "task.safetensors");
  task.load(PartReader(std::move(own), read_checkpoint_state(entry).at("task"), entry.folder.string()),
            of_average);
}

bool has_average(const CheckpointEntry& entry) { return has_checkpoint_file(entry, average_file); }

NamedTensors read_weights(const CheckpointEntry& entry, bool average) {
  const auto* file = average ? average_file : model_file;
  if (!has_checkpoint_file(entry, file)) {
    fail(Exit::usage, text(entry.folder.string(), " has no ", file),
         "the run kept no average: set optim.ema_decay when training");
  }
  return read_checkpoint_file(entry, file);
}

}  // namespace larmor
