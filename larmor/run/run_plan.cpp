#include "larmor/run/run_plan.h"

#include <algorithm>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/device.h"
#include "larmor/run/machine.h"

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

namespace {

/// With as many ranks as before, where the machine offers them, and with threads for all its cores: a run
/// that goes on keeps its threads, however busy the machine is.
Plan plan_of_today(const Plan& stored, Hardware hardware, const Demand& demand, RunConfig config) {
  hardware.free_cores.reset();
  const auto asked = std::exchange(config.parallel.ranks, text(stored.world_size()));
  if (asked == "auto") {
    try {
      return plan_here(hardware, demand, config);
    } catch (const Error&) {
      // What the machine offers is said below.
    }
  }
  config.parallel.ranks = asked;
  return plan_here(hardware, demand, config);
}

bool holds_memory(const Plan& stored, const Plan& fresh) {
  const auto needed = std::max(stored.memory.total(), stored.memory.measured);
  return fresh.memory.available == 0 || needed <= fresh.memory.available;
}

/// Whether the stored plan can be carried out on the machine of the fresh one, and is what is asked for.
bool holds(const Plan& stored, const Plan& fresh, const RunConfig& config) {
  const auto& threads = config.parallel.threads;
  const bool same_threads =
      threads ? *threads == stored.threads_per_rank : stored.threads_per_rank <= fresh.threads_per_rank;
  const bool same_strategy =
      config.parallel.strategy == "auto" || config.parallel.strategy == to_text(stored.strategy);
  const bool same_memory = fresh.recompute == stored.recompute &&
                           (fresh.offload_optimizer == stored.offload_optimizer || !same_strategy);
  return fresh.world_size() == stored.world_size() && fresh.device == stored.device && same_threads &&
         same_strategy && same_memory && holds_memory(stored, fresh);
}

/// The stored plan at the places of today.
Plan placed(Plan stored, const Plan& fresh) {
  stored.ranks = fresh.ranks;
  stored.hosts = fresh.hosts;
  stored.idle_devices = fresh.idle_devices;
  stored.loader_threads = fresh.loader_threads;
  stored.prefetch = fresh.prefetch;
  stored.memory.available = fresh.memory.available;
  return stored;
}

/// The fresh plan, with the micro-batch of the stored one where that can be.
Plan with_micro_batch_of(const Plan& stored, Plan fresh, const Hardware& hardware, const Demand& demand,
                         RunConfig config) {
  if (config.train.micro_batch || fresh.micro_batch == stored.micro_batch || fresh.device != stored.device)
    return fresh;
  config.train.micro_batch = stored.micro_batch;
  try {
    auto wanted = plan_of_today(stored, hardware, demand, config);
    // On a CPU one that does not fit is a plan with a warning.
    if (wanted.world_size() == fresh.world_size() && holds_memory(wanted, fresh)) return wanted;
  } catch (const Error&) {
    // It does not fit, or does not divide the batch among these ranks.
  }
  return fresh;
}

RunChange change_of(const Plan& stored, const Plan& plan) {
  RunChange change;
  change.words = text("planned anew for ", plan.world_size(), " ranks by ", to_text(plan.strategy),
                      "; the run was started with ", stored.world_size(), " by ", to_text(stored.strategy));
  const bool same_batch = plan.micro_batch == stored.micro_batch && plan.accumulation == stored.accumulation;
  const bool same_threads = plan.threads_per_rank == stored.threads_per_rank;
  if (!same_batch)
    change.words += text("; micro-batch × accumulation is ", plan.micro_batch, " × ", plan.accumulation,
                         ", it was ", stored.micro_batch, " × ", stored.accumulation);
  if (!same_threads)
    change.words +=
        text("; threads a rank are ", plan.threads_per_rank, ", they were ", stored.threads_per_rank);
  if (plan.device != stored.device)
    change.words += text("; the device is ", to_text(plan.device), ", it was ", to_text(stored.device));
  if (plan.recompute != stored.recompute)
    change.words +=
        text("; backward computes again: ", to_text(plan.recompute), ", it was ", to_text(stored.recompute));
  change.is_bitwise = same_batch && same_threads && plan.device == stored.device &&
                      plan.strategy == stored.strategy && plan.world_size() == stored.world_size();
  return change;
}

}  // namespace

Plan plan_again(const Plan& stored, const Hardware& hardware, const Demand& demand,
                const LoadedConfig& loaded, std::vector<RunChange>& changes) {
  // The global batch is part of the run; how it is cut into micro-batches was the plan's choice, and may
  // change with the number of ranks.
  auto config = loaded.config;
  for (const auto& origin : loaded.origins) {
    if (origin.origin != "plan") continue;
    if (origin.key == "train.micro_batch") config.train.micro_batch.reset();
    if (origin.key == "train.accumulation") config.train.accumulation.reset();
  }
  auto fresh = plan_of_today(stored, hardware, demand, config);
  if (holds(stored, fresh, config)) return placed(stored, fresh);
  auto plan = with_micro_batch_of(stored, std::move(fresh), hardware, demand, config);
  changes.push_back(change_of(stored, plan));
  return plan;
}

void check_batch(const RunConfig& config, const Plan& plan) {
  if (!config.train.global_batch || *config.train.global_batch == plan.global_batch) return;
  fail(Exit::usage,
       text("the run's global batch is ", *config.train.global_batch, " and the plan makes ",
            plan.global_batch),
       "ask for a number of ranks that divides the global batch");
}

}  // namespace larmor
