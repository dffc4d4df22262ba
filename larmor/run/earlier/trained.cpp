#include "larmor/run/earlier/trained.h"

#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/checkpoint/state_parts.h"
#include "larmor/device/module_state.h"
#include "larmor/run/earlier/checkpoint_weights.h"
#include "larmor/task/networks.h"
#include "larmor/task/undrawn_task.h"

namespace larmor {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse_absent(const RunFolder& folder, const fs::path& path) {
  std::vector<std::string> names{"best", "last"};
  for (const auto& entry : list_checkpoints(folder.checkpoints(), /*verify=*/false))
    names.push_back(entry.folder.filename().string());
  const bool has_any = names.size() > 2;
  const auto near = has_any ? nearest(path.string(), names) : "";
  fail(Exit::usage, text("there is no checkpoint ", path.string()),
       near.empty() ? text("larmor checkpoint list ", folder.root.string(), " shows what there is")
                    : text("did you mean ", near, "?"));
}

// The best one by the manifests, or where none has a metric the newest.
fs::path best_or_last(const std::vector<CheckpointEntry>& entries, bool lower_is_better) {
  for (const auto& entry : entries) {
    if (!entry.ok) {
      log::warning(text("whether ", entry.folder.string(), " is the best cannot be known: ", entry.reason));
    }
  }
  if (const auto* best = best_of(entries, lower_is_better)) return best->folder;
  const auto& last = entries.front().folder;
  log::warning(
      text("no checkpoint of the run has a validation of its own, so there is no best one: taking the last, ",
           last.filename().string()));
  return last;
}

}  // namespace

CheckpointEntry choose_checkpoint(const RunFolder& folder, const std::string& choice, bool lower_is_better) {
  fs::path path = choice;
  if (choice == "best" || choice == "last") {
    const auto entries = list_checkpoints(folder.checkpoints(), /*verify=*/false);
    if (entries.empty()) refuse_absent(folder, folder.checkpoints() / choice);
    path = choice == "best" ? best_or_last(entries, lower_is_better) : entries.front().folder;
  } else if (!fs::exists(path) && fs::exists(folder.checkpoints() / choice)) {
    path = folder.checkpoints() / choice;  // "step-00000004"
  }
  if (!fs::exists(path)) refuse_absent(folder, path);
  auto entry = verify_checkpoint(fs::canonical(path));
  if (!entry.ok) {
    fail(Exit::checkpoint, text("checkpoint ", entry.folder.string(), " is damaged: ", entry.reason),
         "choose another with --checkpoint; larmor checkpoint verify RUN says which are whole");
  }
  return entry;
}

bool takes_average(WeightChoice choice, const Stage& stage, const CheckpointEntry& checkpoint) {
  if (choice != WeightChoice::of_stage) return choice == WeightChoice::average;
  return stage.predicts_by_average() && has_average(checkpoint);
}

TrainedTask choose_trained(const RunFolder& folder, const Workload& workload,
                           const std::vector<std::string>& overrides, const TrainedOptions& options) {
  TrainedTask trained;
  trained.loaded = load_run_stage(folder, workload, overrides);
  const auto& [stage, config] = trained.loaded;
  trained.checkpoint = choose_checkpoint(folder, options.checkpoint, config.config.checkpoint.mode == "min");
  trained.average = takes_average(options.weights, *stage, trained.checkpoint);
  return trained;
}

std::unique_ptr<Task> task_of(const TrainedTask& trained, const RunFolder& folder, c10::Device device,
                              Precision precision) {
  const auto& [stage, config] = trained.loaded;
  auto task = undrawn_task(*stage, config.config, index_from_json(read_json(folder.index())));
  place(*task, device, precision);
  auto& network = *task->objectives().front().network;
  load_state_dict(network, read_weights(trained.checkpoint, trained.average));
  network.eval();
  restore_task(trained.checkpoint, *task, trained.average);
  return task;
}

TrainedTask load_trained(const RunFolder& folder, const Workload& workload,
                         const std::vector<std::string>& overrides, const TrainedOptions& options) {
  auto trained = choose_trained(folder, workload, overrides, options);
  trained.task = task_of(trained, folder, options.device, options.precision);
  return trained;
}

}  // namespace larmor
