#include "larmor/train/run_plan.h"

#include "larmor/base/error.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"
#include "larmor/device/device.h"
#include "larmor/train/machine.h"

namespace larmor {

namespace fs = std::filesystem;

Hardware hardware_for(const fs::path& run_folder) {
  HardwareSources sources;
  sources.run_folder = run_folder;
  return detect_machine(sources);
}

bool asks_what_bf16_gains(const Hardware& hardware, const RunConfig& config) {
  const bool on_cpu = hardware.gpus.empty() || !cuda_is_usable() || config.parallel.device == "cpu";
  return on_cpu && config.train.precision == "auto" && hardware.computes_bf16 == true &&
         hardware.bf16_speedup == 0;
}

Plan plan_here(const Hardware& hardware, const Demand& demand, const RunConfig& config) {
  const bool wants_gpus = !hardware.gpus.empty() && config.parallel.device != "cpu";
  const auto obstacle = wants_gpus ? cuda_obstacle() : std::nullopt;
  if (!obstacle) return make_plan(hardware, demand, config);
  const auto what = text(hardware.gpus.size(), hardware.gpus.size() == 1 ? " GPU is" : " GPUs are",
                         " here, but ", obstacle->why);
  const std::string& remedy = obstacle->remedy;
  if (config.parallel.device == "cuda") fail(Exit::environment, what, remedy);
  auto without = hardware;
  without.gpus.clear();
  auto plan = make_plan(without, demand, config);
  plan.reasons.front() = text("Device cpu: ", what, "; ", remedy, ".");
  return plan;
}

// A stored plan is used again as it is, unless another number of ranks is asked for or this machine
// cannot carry it out.
Plan plan_again(const RunFolder& folder, const Hardware& hardware, const Demand& demand,
                const LoadedConfig& loaded, std::vector<std::string>& notes) {
  const auto stored = plan_from_json(read_json(folder.plan()));
  // The global batch is part of the run; how it is cut into micro-batches was the plan's choice, and may
  // change with the number of ranks.
  auto config = loaded.config;
  for (const auto& origin : loaded.origins) {
    if (origin.origin != "plan") continue;
    if (origin.key == "train.micro_batch") config.train.micro_batch.reset();
    if (origin.key == "train.accumulation") config.train.accumulation.reset();
  }
  const auto fresh = plan_here(hardware, demand, config);
  const bool same_count = config.parallel.ranks == "auto" || fresh.world_size() == stored.world_size();
  const bool same_device = fresh.device == stored.device;
  const bool same_strategy =
      config.parallel.strategy == "auto" || config.parallel.strategy == to_text(stored.strategy);
  const bool same_memory = fresh.recompute == stored.recompute &&
                           (fresh.offload_optimizer == stored.offload_optimizer || !same_strategy);
  if (same_count && same_device && same_strategy && same_memory) {
    auto kept = stored;
    if (stored.world_size() == fresh.world_size()) kept.ranks = fresh.ranks;  // cores and devices of today
    return kept;
  }
  notes.push_back(text("planned anew for ", fresh.world_size(), " ranks by ", to_text(fresh.strategy),
                       "; the run was started with ", stored.world_size(), " by ", to_text(stored.strategy)));
  return fresh;
}

void check_batch(const RunConfig& config, const Plan& plan) {
  if (!config.train.global_batch || *config.train.global_batch == plan.global_batch) return;
  fail(Exit::usage,
       text("the run's global batch is ", *config.train.global_batch, " and the plan makes ",
            plan.global_batch),
       "ask for a number of ranks that divides the global batch");
}

}  // namespace larmor
