#include "app/trained.h"

#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/checkpoint/state_parts.h"
#include "larmor/device/module_state.h"
#include "larmor/train/run_setup.h"
#include "larmor/train/snapshot.h"

namespace larmor::app {

namespace fs = std::filesystem;

CheckpointEntry choose_checkpoint(const RunFolder& folder, const std::string& choice) {
  const bool by_name = choice == "best" || choice == "last";
  fs::path path = by_name ? folder.checkpoints() / choice : fs::path(choice);
  if (!fs::exists(path) && fs::exists(folder.checkpoints() / choice))
    path = folder.checkpoints() / choice;  // "step-00000004"
  // A run without a rated checkpoint has no best one: the last serves.
  if (choice == "best" && !fs::exists(path)) path = folder.checkpoints() / "last";
  if (!fs::exists(path)) {
    fail(Exit::usage, text("there is no checkpoint ", path.string()),
         "larmor checkpoint list RUN shows what there is");
  }
  auto entry = verify_checkpoint(fs::canonical(path));
  if (!entry.ok)
    fail(Exit::checkpoint, text("checkpoint ", entry.folder.string(), " is damaged: ", entry.reason),
         "choose another with --checkpoint");
  return entry;
}

TrainedTask load_trained(Program& program, const std::string& checkpoint_choice, bool average) {
  const auto folder = program.run_folder();
  TrainedTask trained;
  trained.loaded = load_run_stage(folder, program.workload(workload_of(folder)), program.words().overrides);
  trained.checkpoint = choose_checkpoint(folder, checkpoint_choice);
  const auto& [stage, config] = trained.loaded;
  trained.task = stage->task(config.config, index_from_json(read_json(folder.index())));
  auto& network = *trained.task->objectives().front().network;
  load_state_dict(network, read_weights(trained.checkpoint, average));
  network.eval();
  // What a task keeps was measured with the weights as they were, not with their average.
  if (!average) restore_task(trained.checkpoint, *trained.task);
  return trained;
}

}  // namespace larmor::app
