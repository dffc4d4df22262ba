#include "tests/plan/support/machines.h"

#include <numeric>

#include "larmor/base/text.h"

namespace larmor::testing {

Hardware machine(int cores, uint64_t memory_gibibytes) {
  Hardware hardware;
  hardware.machine_cores = cores;
  hardware.physical_cores = cores;
  hardware.cores.resize(static_cast<size_t>(cores));
  std::iota(hardware.cores.begin(), hardware.cores.end(), 0);
  hardware.numa_of_core.assign(hardware.cores.size(), 0);
  hardware.physical_of_core = hardware.cores;
  hardware.memory_bytes = memory_gibibytes * gibibyte;
  hardware.memory_limit_bytes = hardware.memory_bytes;
  hardware.memory_available_bytes = hardware.memory_bytes;
  return hardware;
}

Hardware two_node_machine(int cores, uint64_t memory_gibibytes) {
  Hardware hardware = machine(cores, memory_gibibytes);
  for (int core = cores / 2; core < cores; ++core) hardware.numa_of_core[static_cast<size_t>(core)] = 1;
  return hardware;
}

Hardware with_gpus(Hardware hardware, int count, std::string_view name, uint64_t memory_bytes, int major,
                   int minor) {
  for (int i = 0; i < count; ++i) {
    Gpu gpu;
    gpu.index = static_cast<int>(hardware.gpus.size());
    gpu.name = name;
    gpu.memory_bytes = gpu.free_bytes = memory_bytes;
    gpu.capability_major = major;
    gpu.capability_minor = minor;
    hardware.gpus.push_back(gpu);
  }
  return hardware;
}

Guide question_answering_guide() {
  constexpr uint64_t thousand = 1000 * mebibyte;
  Guide guide;
  guide.rows = {{20 * thousand, 16, 4},
                {14 * thousand, 12, 5},
                {10 * thousand, 8, 8},
                {6 * thousand, 4, 16},
                {0, 2, 32}};
  guide.on_cpu = {.micro_batch = 4, .accumulation = 8};
  guide.examples_a_step = 256;
  guide.strategy = Strategy::zero2;
  return guide;
}

Demand autoencoder() {
  Demand demand;
  demand.training_examples = 200;
  demand.parameters = 21'000'000;
  demand.model_bytes = 84'000'000;
  demand.optimizer_bytes = 168'000'000;
  demand.activation_bytes_per_sample = int64_t{1} << 30;
  demand.sample_bytes = int64_t{16} << 20;
  demand.preferred_micro_batch = 2;
  return demand;
}

std::string summary(const Plan& plan) {
  std::string devices;
  for (const RankSeat& seat : plan.ranks) devices += text(devices.empty() ? "" : ",", seat.device);
  if (plan.device == DeviceKind::cpu) devices = text("x", plan.ranks.size());
  return text(to_text(plan.device), " ", devices, " | ", plan.global_batch, " = ", plan.micro_batch, " x ",
              plan.accumulation, " x ", plan.world_size(), " | ", to_text(plan.precision), " ",
              to_text(plan.strategy), " | ", plan.threads_per_rank, "+", plan.loader_threads, " threads");
}

std::string refusal(const Hardware& hardware, const Demand& demand, const RunConfig& config) {
  try {
    make_plan(hardware, demand, config);
  } catch (const Error& error) {
    return text(static_cast<int>(error.exit()), ": ", error.message(), " | ", error.hint());
  }
  return "accepted";
}

}  // namespace larmor::testing
