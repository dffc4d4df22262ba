// The decisions that make a plan, one source file each, in the order in which make_plan takes them. Each
// reads what the earlier ones decided, writes its own part of the plan, and leaves its reasons.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "larmor/hardware/gpu_obstacle.h"
#include "larmor/plan/plan.h"

namespace larmor {

/// A bucket of gradients, where nothing asks for less.
constexpr int64_t usual_bucket_bytes = int64_t{25} << 20;

/// A GPU that is here and that this program cannot compute on.
struct BarredGpu {
  Gpu gpu;
  GpuObstacle obstacle;
};

struct Question {
  const Hardware& hardware;  // without the GPUs that cannot compute
  const Demand& demand;
  const RunConfig& config;
  std::vector<BarredGpu> barred{};

  /// Whether the plan's numbers are those of the stage's guide: only one that has a table of them.
  bool follows_guide() const { return config.plan.profile == "guide" && !demand.guide.rows.empty(); }
};

/// Takes from `hardware` the GPUs that cannot compute.
std::vector<BarredGpu> take_barred(Hardware& hardware);
void choose_device(const Question& question, Plan& plan);
/// One rank a GPU, or as many on the CPU as were asked for. Cores are given later.
void choose_ranks(const Question& question, Plan& plan);
void choose_precision(const Question& question, Plan& plan);
void choose_layout(const Question& question, Plan& plan);
void choose_threads(const Question& question, Plan& plan);
void choose_batch(const Question& question, Plan& plan);
void choose_strategy(const Question& question, Plan& plan);
void choose_recomputation(const Question& question, Plan& plan);
/// Once the strategy is known; and, once the batch is known, no graphs where there is no room for them.
void choose_graphs(const Question& question, Plan& plan);
void check_graphs(const Question& question, Plan& plan);
/// What travels between ranks besides, and in which form: choose_strategy reads the wishes first, and holds
/// the strategy against them last.
void read_exchange(const Question& question, Plan& plan);
void check_exchange(const Question& question, Plan& plan);
void choose_determinism(const Question& question, Plan& plan);
void choose_bucket(const Question& question, Plan& plan);
void bind_cores(const Question& question, Plan& plan);
/// Fills `memory`. Throws Error (memory) when not even one example fits.
void check_memory(const Question& question, Plan& plan);

/// Refuses sizes that no number of ranks could make right.
void check_batch_request(const Question& question);
/// Whether the given parts of micro-batch × accumulation × ranks = global batch leave room for `ranks`.
/// Requires: check_batch_request() has passed.
bool batch_allows(const Question& question, int64_t ranks);
/// The smallest micro-batch that the request leaves to so many ranks.
int64_t smallest_micro_batch(const Question& question, int64_t ranks);
/// What a rank of the plan needs with another micro-batch.
MemoryEstimate estimate(const Question& question, const Plan& plan, int64_t micro_batch);
/// The bytes of all gradients of one rank, as wide as they are.
int64_t gradient_bytes(const Question& question, const Plan& plan);
/// One bucket of them.
int64_t bucket_of(int64_t gradient_bytes);
/// Single changes of the request under which a rank would hold such a micro-batch, each as a person would ask
/// for it and with what it needs.
std::vector<std::string> changes_that_fit(const Question& question, const Plan& plan, int64_t micro_batch);
/// What would let a rank hold one example, for a plan that does not: changes of the request with what each
/// would need, as the hint of a refusal.
std::string what_would_fit(const Question& question, const Plan& plan);
/// Whether gradients of several micro-batches meet at each, for want of room to keep whole ones. Called once
/// the batch is known.
void choose_gradient_keeping(const Question& question, Plan& plan);
/// The largest micro-batch that the estimate lets a rank hold; at least 1, and without bound when nothing
/// is known.
int64_t micro_batch_that_fits(const Question& question, const Plan& plan);

/// Whether all GPUs that the plan's ranks use compute in that precision.
bool computes(const Question& question, const Plan& plan, Precision precision);
/// The GPUs that the plan's ranks use. Requires: ranks were chosen; none on a CPU.
std::vector<Gpu> used_gpus(const Question& question, const Plan& plan);
Gpu smallest(const std::vector<Gpu>& gpus);

}  // namespace larmor
