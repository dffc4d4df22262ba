// What we shall do, and why: a pure function of hardware, demand and config.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "larmor/base/json.h"
#include "larmor/config/run_config.h"
#include "larmor/hardware/hardware.h"
#include "larmor/plan/kinds.h"

namespace larmor {

/// A row of a guide's table of batches.
struct GuideRow {
  uint64_t least_memory_bytes = 0;  // of the smallest GPU
  int64_t micro_batch = 1, accumulation = 1;
};

/// The numbers of the guide that a stage comes from, for plan.profile=guide.
struct Guide {
  std::vector<GuideRow> rows = {};  // of GPUs, by falling memory; empty: the guide has no such table
  GuideRow on_cpu = {};
  /// What the accumulation brings a step near to, whatever the number of GPUs; 0: the row's holds as it is.
  int64_t examples_a_step = 0;
  int loader_threads_on_gpu = 3, loader_threads_on_cpu = 4;  // of a rank, at most
  std::optional<Strategy> strategy = {};                     // of several GPUs
  bool recomputes = false;  // backward computes each block again, whatever the memory
  int cores_a_thread = 0;   // on GPUs one compute thread a rank for so many of its cores; 0: as ever
  /// Variables of the environment of ranks on GPUs, and those besides where there are several.
  std::map<std::string, std::string> environment = {}, environment_of_several = {};
};

/// What a stage asks of a machine. Counts, no tensors.
struct Demand {
  int64_t training_examples = 0;
  int64_t parameters = 0;
  int64_t model_bytes = 0;                  // parameters and buffers in fp32
  int64_t optimizer_bytes = 0;              // moments and EMA
  int64_t activation_bytes_per_sample = 0;  // in fp32, nothing computed again; 0 = unknown
  int64_t recomputed_bytes_per_sample = 0;  // the same with each block computed again, while the largest is
  int64_t sectioned_bytes_per_sample = 0;   // the same with sections computed again, and their blocks
  int64_t largest_block_bytes = 0;          // in fp32: the most weights that ZeRO-3 brings together at once
  int64_t parameters_outside_blocks = 0;    // of the parameters: ZeRO-3 leaves them whole on every rank
  int64_t frozen_bytes = 0;                 // in fp32, of networks that take part and do not learn: never cut
  /// Where validation goes over whole cases, for the largest: what a pass over one window keeps at its peak,
  /// in fp32, and what lies beside it, in the type of the images; of this the images themselves, of which a
  /// GPU holds the next case's, too. `window` alone: what sampling for a picture keeps.
  int64_t validation_window_bytes = 0, validation_case_bytes = 0, validation_image_bytes = 0;
  int64_t sample_bytes = 0;           // one example as the loader holds it
  int64_t preferred_micro_batch = 1;  // of the workload, when nothing else decides
  bool batch_norm = false;            // needs accumulation 1
  int64_t fewest_in_step = 1;         // examples of a global batch that the loss compares with each other
  Guide guide = {};                   // of the stage
};

/// The device and the cores of one rank.
struct RankSeat {
  int device = 0;          // GPU index; -1 on CPU
  std::vector<int> cores;  // to be bound to; empty = no binding
};

struct MemoryEstimate {
  int64_t weights = 0, gradients = 0, optimizer = 0, activations = 0, batch = 0;
  int64_t validation = 0;  // of whole cases, or of a sample: at its peak, in place of a step's activations
  int64_t graphs = 0;  // what graphs keep beside all this: gradients, a batch, activations while validating
  /// The bytes during a step.
  int64_t of_step() const { return weights + gradients + optimizer + activations + batch + graphs; }
  /// The most at any time.
  int64_t total() const { return of_step() + std::max<int64_t>(validation - activations, 0); }
  int64_t available = 0;  // of one rank's device
  int64_t measured = 0;   // peak of one step, the most of any rank; 0: not measured
  int64_t predicted = 0;  // the same, from a step on fewer samples; 0: not predicted
  int64_t offloaded = 0;  // of the optimizer, on the host: no part of the total
};

struct Plan {
  DeviceKind device = DeviceKind::cpu;
  std::vector<RankSeat> ranks;  // of each host in turn
  int hosts = 1;
  int64_t micro_batch = 1, accumulation = 1, global_batch = 1;
  Precision precision = Precision::fp32;
  Layout layout = Layout::contiguous;
  Strategy strategy = Strategy::single;
  Recompute recompute = Recompute::none;
  bool offload_optimizer = false;
  bool sync_batch_norm = false;
  bool whole_micro_batch = false;  // batch norm: in smaller micro-batches the result would be another
  Compression compression = Compression::none;
  bool graphs = false;  // GPUs launch a micro-batch's forward and backward as a whole
  /// Whether gradients are reduced at every micro-batch, as ZeRO-2 and ZeRO-3 have to where whole ones would
  /// not fit. Otherwise whole gradients stay on each rank between micro-batches.
  bool exchange_every_micro_batch = false;
  bool deterministic = true;
  int loader_threads = 1;    // a rank
  int prefetch = 2;          // micro-batches ahead, a rank
  int threads_per_rank = 1;  // OpenMP threads
  int64_t bucket_bytes = 0;  // gradient bucket; from parameters
  MemoryEstimate memory;
  std::vector<std::string> reasons;  // one sentence a decision
  std::vector<int> idle_devices;
  /// Variables of the ranks' environment; one that is set already stays as it is.
  std::map<std::string, std::string> environment = {};

  int world_size() const { return static_cast<int>(ranks.size()); }
  /// Whether its ranks are threads of one process.
  bool in_one_process() const { return strategy == Strategy::dp && world_size() > 1; }
  /// The ranks on one host; the last may have fewer.
  int local_size() const { return (world_size() + hosts - 1) / hosts; }
};

/// Pure: touches no device, reads no file. Throws Error: usage when the request cannot be planned (with
/// the arithmetic and, for a world size, the allowed list), memory when it cannot fit.
Plan make_plan(const Hardware& hardware, const Demand& demand, const RunConfig& config);

/// Whether a pass without gradient over `examples` times the voxels of one training example fits into half of
/// that much memory. A network whose demand is unknown fits; unknown memory (0) holds nothing.
bool fits_in_one_pass(const Demand& demand, double examples, uint64_t memory_bytes);

/// The same batch in micro-batches of at most half the size, and as many more of them. Nothing where there
/// are none, or where the result would be another.
std::optional<Plan> with_smaller_micro_batch(const Plan& plan);

/// Writes down what one step took, beside what was foreseen, and what a smaller step had predicted (0:
/// nothing).
void note_measured(Plan& plan, int64_t predicted, int64_t taken);

/// The world sizes that a fixed global batch allows, largest first, up to `most`.
std::vector<int64_t> allowed_world_sizes(int64_t global_batch, int64_t most);

Json to_json(const Plan& plan);
Plan plan_from_json(const Json& json);
/// The plan as a person reads it before anything starts: a table, then nothing hidden.
std::string explain(const Plan& plan, const Hardware& hardware);
/// The table that `larmor doctor` prints.
std::string describe(const Hardware& hardware);

}  // namespace larmor
