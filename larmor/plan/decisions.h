// The decisions that make a plan, one source file each, in the order in which make_plan takes them. Each
// reads what the earlier ones decided, writes its own part of the plan, and leaves its reasons.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "larmor/plan/plan.h"

namespace larmor {

struct Question {
  const Hardware& hardware;
  const Demand& demand;
  const RunConfig& config;

  bool follows_guide() const { return config.plan.profile == "guide"; }
};

void choose_device(const Question& question, Plan& plan);
/// One rank a GPU, or as many on the CPU as were asked for. Cores are given later.
void choose_ranks(const Question& question, Plan& plan);
void choose_precision(const Question& question, Plan& plan);
void choose_threads(const Question& question, Plan& plan);
void choose_batch(const Question& question, Plan& plan);
void choose_strategy(const Question& question, Plan& plan);
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
/// The largest micro-batch that the estimate lets a rank hold; at least 1, and without bound when nothing
/// is known.
int64_t micro_batch_that_fits(const Question& question, const Plan& plan);

/// The GPUs that the plan's ranks use. Requires: ranks were chosen; none on a CPU.
std::vector<Gpu> used_gpus(const Question& question, const Plan& plan);
Gpu smallest(const std::vector<Gpu>& gpus);

}  // namespace larmor
