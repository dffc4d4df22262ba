// The plan as a person reads it.
#include <algorithm>
#include <string>
#include <vector>

#include "larmor/base/printable.h"
#include "larmor/base/table.h"
#include "larmor/base/text.h"
#include "larmor/plan/phrases.h"
#include "larmor/plan/plan.h"

namespace larmor {
namespace {

const Gpu* find_gpu(const Hardware& hardware, int index) {
  const auto found = std::find_if(hardware.gpus.begin(), hardware.gpus.end(),
                                  [index](const Gpu& gpu) { return gpu.index == index; });
  return found == hardware.gpus.end() ? nullptr : &*found;
}

std::string device_text(const Plan& plan, const Hardware& hardware) {
  if (plan.device == DeviceKind::cpu) {
    return text("cpu, ", counted(hardware.usable_cores(), "core"), " of ", hardware.machine_cores);
  }
  const std::string idle =
      plan.idle_devices.empty() ? "" : text(", ", gpu_numbers(plan.idle_devices), " idle");
  return text("cuda, ", plan.local_size(), " of ", counted(static_cast<int64_t>(hardware.gpus.size()), "GPU"),
              plan.hosts == 1 ? "" : " on each host", idle);
}

/// Who keeps what.
std::string strategy_text(const Plan& plan) {
  const std::string name = to_text(plan.strategy);
  const bool offloads = plan.memory.offloaded > 0;
  if (plan.world_size() == 1) return name + (offloads ? ": optimizer states on the host" : "");
  const std::string part = text("1/", plan.world_size());
  const std::string states = text(part, " of optimizer states", offloads ? " on the host" : "");
  switch (plan.strategy) {
    case Strategy::single:
    case Strategy::ddp:
      return name + ": each rank keeps weights, gradients and optimizer states whole";
    case Strategy::dp:
      return name +
             ": each rank is a thread of one process and keeps weights, gradients and optimizer states whole";
    case Strategy::zero1:
      return text(name, ": each rank keeps weights and gradients whole, ", states);
    case Strategy::zero2:
      return text(name, ": each rank keeps weights whole, ", part, " of gradients, ", states);
    case Strategy::zero3:
      return text(name, ": each rank keeps ", part, " of weights, ", part, " of gradients, ", states);
  }
  return name;
}

/// What ranks send each other, and when.
std::string exchange_text(const Plan& plan) {
  if (plan.world_size() == 1) return "none";
  return text("gradients in buckets of ", human_bytes(plan.bucket_bytes),
              plan.compression == Compression::none ? "" : text(" as ", to_text(plan.compression)),
              plan.accumulation == 1            ? ""
              : plan.exchange_every_micro_batch ? ", at every micro-batch"
                                                : ", once a step",
              plan.sync_batch_norm ? "; statistics of batch norm" : "");
}

std::string recomputed_text(Recompute recompute) {
  switch (recompute) {
    case Recompute::none:
      return "nothing";
    case Recompute::blocks:
      return "each block";
    case Recompute::all:
      return "sections of blocks, and each block in them";
  }
  return "";
}

std::string memory_text(const MemoryEstimate& memory) {
  const std::string available = memory.available > 0 ? text(" of ", human_bytes(memory.available)) : "";
  return text(human_bytes(memory.total()), available, " a rank: weights ", human_bytes(memory.weights),
              ", gradients ", human_bytes(memory.gradients), ", optimizer ", human_bytes(memory.optimizer),
              ", activations ", memory.activations > 0 ? human_bytes(memory.activations) : "unknown",
              ", batches ", human_bytes(memory.batch),
              memory.graphs > 0 ? text(", graphs ", human_bytes(memory.graphs)) : "",
              memory.validation > memory.activations
                  ? text("; while validating ", human_bytes(memory.validation), " in place of activations")
                  : "",
              memory.offloaded > 0 ? text("; on the host optimizer ", human_bytes(memory.offloaded)) : "");
}

std::string rank_table(const Plan& plan, const Hardware& hardware) {
  Table table;
  table.add({"rank", "device", "cores"});
  for (size_t rank = 0; rank < plan.ranks.size(); ++rank) {
    const RankSeat& seat = plan.ranks[rank];
    std::string device = "cpu";
    if (plan.device == DeviceKind::cuda) {
      const Gpu* gpu = find_gpu(hardware, seat.device);
      device = text("GPU ", seat.device, gpu == nullptr ? "" : text(" ", gpu->name));
    }
    table.add({text(rank), device, seat.cores.empty() ? "any" : core_ranges(seat.cores)});
  }
  return table.to_text(2);
}

}  // namespace

std::string explain(const Plan& plan, const Hardware& hardware) {
  Table table;
  table.add({"device", device_text(plan, hardware)});
  table.add({"ranks", plan.hosts == 1 ? text(plan.world_size())
                                      : text(plan.world_size(), " on ", plan.hosts, " hosts, ",
                                             plan.world_size() % plan.hosts == 0 ? "" : "at most ",
                                             plan.local_size(), " on each")});
  table.add({"strategy", strategy_text(plan)});
  table.add({"batch", text(plan.global_batch, " = ", plan.micro_batch, " micro-batch × ", plan.accumulation,
                           " accumulation × ", counted(plan.world_size(), "rank"))});
  table.add({"precision",
             text(to_text(plan.precision), plan.layout == Layout::channels_last ? ", channels last" : "",
                  plan.deterministic ? ", deterministic" : "", plan.graphs ? ", graphs" : "")});
  table.add(
      {"threads", text(plan.threads_per_rank, " compute + ", plan.loader_threads, " loading a rank, ",
                       plan.prefetch, plan.prefetch == 1 ? " micro-batch ahead" : " micro-batches ahead")});
  table.add({"exchange", exchange_text(plan)});
  table.add({"recomputed", recomputed_text(plan.recompute)});
  table.add({"memory", memory_text(plan.memory)});
  std::string out = text("plan\n", table.to_text(2), rank_table(plan, hardware), "why\n");
  for (const std::string& reason : plan.reasons) out += text("  ", printable(reason), "\n");
  return out;
}

}  // namespace larmor
