// What one rank needs, by estimate, and what it may have.
#include <algorithm>
#include <limits>
#include <string>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/plan/decisions.h"
#include "larmor/plan/words.h"

namespace larmor {
namespace {

// The context, the kernels' code and the workspaces of cuDNN and NCCL are not the allocator's, and NVML
// counts free memory before they exist.
constexpr int64_t cuda_context_bytes = int64_t{768} << 20;

int64_t available_to_a_rank(const Question& question, const Plan& plan) {
  if (plan.device == DeviceKind::cpu) {
    return static_cast<int64_t>(question.hardware.memory_limit_bytes) / plan.world_size();
  }
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const Gpu& gpu : used_gpus(question, plan))
    least = std::min(least, static_cast<int64_t>(gpu.free_bytes));
  return least == 0 ? 0 : std::max<int64_t>(least - cuda_context_bytes, 1);
}

MemoryEstimate estimate(const Question& question, const Plan& plan, int64_t micro_batch) {
  const Demand& demand = question.demand;
  const bool is_double = plan.precision == Precision::fp64;
  const bool is_half = plan.precision == Precision::bf16 || plan.precision == Precision::fp16;
  MemoryEstimate memory;
  // Mixed precision keeps fp32 weights and, during a step, their casts to half the width.
  memory.weights = is_double ? demand.model_bytes * 2
                   : is_half ? demand.model_bytes / 2 * 3
                             : demand.model_bytes;
  memory.gradients = demand.parameters * (is_double ? 8 : 4);
  memory.optimizer = demand.optimizer_bytes * (is_double ? 2 : 1);
  const int64_t activations = demand.activation_bytes_per_sample;
  memory.activations = micro_batch * (is_double ? activations * 2 : is_half ? activations / 2 : activations);
  // On a CPU the batches that wait lie beside the model; on a GPU only the one in use and the next.
  const int64_t held = plan.device == DeviceKind::cpu ? plan.prefetch + 1 : 2;
  memory.batch = micro_batch * demand.sample_bytes * held;
  memory.available = available_to_a_rank(question, plan);
  return memory;
}

std::string sum_text(const MemoryEstimate& memory, const char* batch) {
  return text("weights ", human_bytes(memory.weights), " + gradients ", human_bytes(memory.gradients),
              " + optimizer ", human_bytes(memory.optimizer), " + activations ",
              memory.activations > 0 ? human_bytes(memory.activations) : "unknown", " + ", batch, " ",
              human_bytes(memory.batch));
}

void refuse_if_one_example_is_too_much(const Question& question, const Plan& plan) {
  const MemoryEstimate one = estimate(question, plan, 1);
  if (one.total() <= one.available) return;
  const bool on_cpu = plan.device == DeviceKind::cpu;
  const std::string have =
      on_cpu ? text(human_bytes(one.available), " (", human_bytes(question.hardware.memory_limit_bytes),
                    " / ", counted(plan.world_size(), "rank"), ")")
             : text(human_bytes(one.available), " free beside its context");
  fail(Exit::memory,
       text("a rank with one example needs ", human_bytes(one.total()), " (", sum_text(one, "batches"),
            "), but ", on_cpu ? "it may use " : "the smallest GPU has ", have),
       on_cpu && plan.world_size() > 1 ? text("fewer ranks (parallel.ranks=", plan.world_size() - 1,
                                              "), a smaller model, or smaller examples")
       : on_cpu                        ? "a smaller model, smaller examples, or more memory for the job"
                : "a smaller model, smaller examples, or train.precision=bf16 or fp16");
}

/// Batches that wait for a GPU lie in the host's memory, of all ranks together.
void check_host_memory(const Question& question, const Plan& plan) {
  const auto limit = static_cast<int64_t>(question.hardware.memory_limit_bytes);
  if (plan.device == DeviceKind::cpu || limit == 0) return;
  const int64_t examples = plan.micro_batch * (plan.prefetch + 1) + plan.loader_threads;
  const int64_t needed = examples * question.demand.sample_bytes * plan.world_size();
  if (needed <= limit) return;
  fail(Exit::memory,
       text("the batches that wait for ", counted(plan.world_size(), "rank"), " need ", human_bytes(needed),
            " of the host's memory (", examples, " examples a rank × ",
            human_bytes(question.demand.sample_bytes), "), but the job may use ", human_bytes(limit)),
       "data.prefetch=1, fewer data.workers, or a smaller train.micro_batch");
}

}  // namespace

bool fits_in_one_pass(const Demand& demand, double examples, uint64_t memory_bytes) {
  // Without gradient a few of the maps live at a time that training keeps all of.
  constexpr double share_alive = 0.25, share_of_memory = 0.5;
  const double needed = static_cast<double>(demand.activation_bytes_per_sample) * share_alive * examples;
  return needed < share_of_memory * static_cast<double>(memory_bytes);
}

int64_t micro_batch_that_fits(const Question& question, const Plan& plan) {
  constexpr int64_t unbounded = std::numeric_limits<int64_t>::max();
  const MemoryEstimate none = estimate(question, plan, 0), one = estimate(question, plan, 1);
  const int64_t of_example = one.total() - none.total();
  if (one.available == 0 || of_example == 0) return unbounded;
  return std::max<int64_t>((one.available - none.total()) / of_example, 1);
}

void check_memory(const Question& question, Plan& plan) {
  plan.memory = estimate(question, plan, plan.micro_batch);
  if (plan.memory.available == 0) {
    plan.reasons.push_back("Memory is not checked: the hardware does not say how much there is.");
    return;
  }
  refuse_if_one_example_is_too_much(question, plan);
  check_host_memory(question, plan);
  const std::string sum = text(human_bytes(plan.memory.total()), " of ", human_bytes(plan.memory.available),
                               " (", sum_text(plan.memory, "batches"), ")");
  if (plan.memory.total() <= plan.memory.available) {
    plan.reasons.push_back(text("A rank needs about ", sum, "."));
  } else {
    plan.reasons.push_back(text("A rank may run out of memory: about ", sum, "; train.micro_batch=",
                                micro_batch_that_fits(question, plan), " would fit."));
  }
}

}  // namespace larmor
