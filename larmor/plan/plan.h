// What we shall do, and why: a pure function of hardware, demand and config.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "larmor/base/json.h"
#include "larmor/config/run_config.h"
#include "larmor/hardware/hardware.h"

namespace larmor {

enum class Precision { fp32, bf16, fp16, fp64 };
enum class Strategy { single, ddp };
enum class DeviceKind { cpu, cuda };

std::string to_text(Precision precision);
std::string to_text(Strategy strategy);
std::string to_text(DeviceKind kind);

/// What a stage asks of a machine. Counts, no tensors.
struct Demand {
  int64_t training_examples = 0;
  int64_t parameters = 0;
  int64_t model_bytes = 0;                  // parameters and buffers in fp32
  int64_t optimizer_bytes = 0;              // moments and EMA
  int64_t activation_bytes_per_sample = 0;  // estimate; 0 = unknown
  int64_t sample_bytes = 0;                 // one example as the loader holds it
  int64_t preferred_micro_batch = 1;        // of the workload, when nothing else decides
  bool batch_norm = false;                  // needs accumulation 1
};

/// One rank's place on the machine.
struct Place {
  int device = 0;          // GPU index; -1 on CPU
  std::vector<int> cores;  // to be bound to; empty = no binding
};

struct MemoryEstimate {
  int64_t weights = 0, gradients = 0, optimizer = 0, activations = 0, batch = 0;
  int64_t total() const { return weights + gradients + optimizer + activations + batch; }
  int64_t available = 0;  // of one rank's device
};

struct Plan {
  DeviceKind device = DeviceKind::cpu;
  std::vector<Place> ranks;
  int64_t micro_batch = 1, accumulation = 1, global_batch = 1;
  Precision precision = Precision::fp32;
  Strategy strategy = Strategy::single;
  bool deterministic = true;
  int loader_threads = 1;    // a rank
  int prefetch = 2;          // micro-batches ahead, a rank
  int threads_per_rank = 1;  // OpenMP threads
  int64_t bucket_bytes = 0;  // gradient bucket; from parameters
  MemoryEstimate memory;
  std::vector<std::string> reasons;  // one sentence a decision
  std::vector<int> idle_devices;

  int world_size() const { return static_cast<int>(ranks.size()); }
};

/// Pure: touches no device, reads no file. Throws Error: usage when the request cannot be planned (with
/// the arithmetic and, for a world size, the allowed list), memory when it cannot fit.
Plan make_plan(const Hardware& hardware, const Demand& demand, const RunConfig& config);

/// Whether a pass without gradient over `examples` times the voxels of one training example fits into half of
/// that much memory. A network whose demand is unknown fits; unknown memory (0) holds nothing.
bool fits_in_one_pass(const Demand& demand, double examples, uint64_t memory_bytes);

/// The world sizes that a fixed global batch allows, largest first, up to `most`.
std::vector<int64_t> allowed_world_sizes(int64_t global_batch, int64_t most);

Json to_json(const Plan& plan);
Plan plan_from_json(const Json& json);
/// The plan as a person reads it before anything starts: a table, then nothing hidden.
std::string explain(const Plan& plan, const Hardware& hardware);
/// The table that `larmor doctor` prints.
std::string describe(const Hardware& hardware);

}  // namespace larmor
