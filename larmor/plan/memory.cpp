// What one rank needs, by estimate, and what it may have.
#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/hardware/allocator_settings.h"
#include "larmor/plan/decisions.h"
#include "larmor/plan/phrases.h"

namespace larmor {
namespace {

// The context, the kernels' code and the workspaces of cuDNN and NCCL are not the allocator's, and NVML
// counts free memory before they exist.
constexpr int64_t cuda_context_bytes = int64_t{768} << 20;

// What libtorch's allocator takes at most from the driver beside the peak that is foreseen, in hundredths of
// that: 6.5 were measured, most of them pieces of segments; and up to 30 where segments keep their size,
// before the allocator has no more to give back (docs/gpu.md).
constexpr int64_t percent_in_pieces = 7, percent_in_plain_segments = 30, percent_of_all = 100;

// What a process holds before its first tensor: libtorch's code and tables, its threads' stacks. 158 to 161
// MB were measured (docs/measurements.md).
constexpr int64_t process_bytes = int64_t{200} << 20;

/// A person's settings come before the guide's, whose variables are for ranks that have none.
bool segments_grow(const Question& question, const Plan& plan) {
  const auto of_guide = segments_grow_by(plan.environment);
  return question.hardware.segments_grow.value_or(of_guide.value_or(true));
}

int64_t percent_kept(const Question& question, const Plan& plan) {
  return segments_grow(question, plan) ? percent_in_pieces : percent_in_plain_segments;
}

int64_t available_to_a_rank(const Question& question, const Plan& plan) {
  if (plan.device == DeviceKind::cpu) {
    const auto free = static_cast<int64_t>(question.hardware.free_memory_bytes());
    const int64_t processes = plan.in_one_process() ? 1 : plan.local_size();
    return free == 0 ? 0 : std::max<int64_t>((free - processes * process_bytes) / plan.local_size(), 1);
  }
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const Gpu& gpu : used_gpus(question, plan))
    least = std::min(least, static_cast<int64_t>(gpu.free_bytes));
  if (least == 0) return 0;
  return std::max<int64_t>(
      (least - cuda_context_bytes) * percent_of_all / (percent_of_all + percent_kept(question, plan)), 1);
}

struct Widths {
  int64_t weight = 4, gradient = 4, activation_halves = 2;  // bytes; the last in half floats
  int64_t gradient_sum = 4;                                 // of several micro-batches' gradients
};

Widths widths_of(const Plan& plan) {
  if (plan.precision == Precision::fp64)
    return {.weight = 8, .gradient = 8, .activation_halves = 4, .gradient_sum = 8};
  const bool is_half = plan.precision == Precision::bf16 || plan.precision == Precision::fp16;
  if (!is_half) return {};
  // Replicas keep fp32 weights and, during a step, their casts to half the width; parts of a sharded model
  // are master weights, and the network itself holds halves.
  if (is_sharded(plan.strategy)) return {.weight = 2, .gradient = 2, .activation_halves = 1};
  return {.weight = 6, .gradient = 4, .activation_halves = 1};
}

/// One rank's share of `bytes`.
int64_t share_of(int64_t bytes, const Plan& plan) {
  return (bytes + plan.world_size() - 1) / plan.world_size();
}

/// Weights, gradients and optimizer's states. Source: Rajbhandari et al. 2020, with our widths: parts of a
/// sharded model have gradients as narrow as its weights, and add those of several micro-batches up in
/// float32.
void estimate_model(const Question& question, const Plan& plan, MemoryEstimate& memory) {
  const Demand& demand = question.demand;
  const Widths widths = widths_of(plan);
  constexpr int64_t float_bytes = 4, in_flight = 2;
  const int64_t in_doubles = plan.precision == Precision::fp64 ? 2 : 1;
  // Buffers, and what does not learn, keep their own width on every rank.
  const int64_t fixed =
      std::max<int64_t>(demand.model_bytes - demand.parameters * float_bytes, 0) + demand.frozen_bytes;
  const int64_t weights = demand.parameters * widths.weight;
  const int64_t outside = std::min(demand.parameters_outside_blocks, demand.parameters);
  const int64_t gradients = gradient_bytes(question, plan);
  const int64_t block = demand.largest_block_bytes / float_bytes;
  int64_t states = demand.optimizer_bytes * in_doubles;
  const bool has_master = is_sharded(plan.strategy) && (widths.weight == 2 || plan.offload_optimizer);
  if (has_master) states += demand.parameters * float_bytes * in_doubles;
  const bool adds_up = plan.accumulation > 1;
  const bool keeps_whole = adds_up && !plan.exchange_every_micro_batch;
  const int64_t sums = adds_up ? demand.parameters * widths.gradient_sum : gradients;
  const bool cuts_gradients = plan.strategy == Strategy::zero2 || plan.strategy == Strategy::zero3;
  const bool cuts_weights = plan.strategy == Strategy::zero3;
  // Of cut weights one block is in use and the next one under way, and what no block holds is not cut; of cut
  // gradients as many are on their way, by blocks or by buckets.
  const int64_t inside = weights - outside * widths.weight;
  memory.weights = fixed * in_doubles + (cuts_weights ? share_of(inside, plan) + outside * widths.weight +
                                                            in_flight * block * widths.weight
                                                      : weights);
  const int64_t bucket = bucket_of(gradients);
  const int64_t on_their_way =
      in_flight * (cuts_weights
                       ? std::max(block, std::min(outside, bucket / widths.gradient)) * widths.gradient
                       : bucket);
  memory.gradients = sums;
  if (cuts_gradients)
    memory.gradients = share_of(sums, plan) + (keeps_whole ? sums : std::min(on_their_way, gradients));
  memory.optimizer = is_sharded(plan.strategy) ? share_of(states, plan) : states;
  if (plan.offload_optimizer && plan.device == DeviceKind::cuda)
    memory.offloaded = std::exchange(memory.optimizer, 0);
}

int64_t activations_of_a_sample(const Demand& demand, Recompute recompute) {
  const int64_t recomputed =
      recompute == Recompute::all ? demand.sectioned_bytes_per_sample : demand.recomputed_bytes_per_sample;
  const bool keeps_all = recompute == Recompute::none || recomputed == 0;
  return keeps_all ? demand.activation_bytes_per_sample : recomputed;
}

/// Of the free memory of a GPU, or of a CPU's host.
std::string kept_back(const Question& question, const Plan& plan) {
  if (plan.device == DeviceKind::cpu)
    return text(human_bytes(process_bytes), " of ", plan.in_one_process() ? "the process" : "each process",
                " itself");
  return text("its context and ", percent_kept(question, plan),
              " % for pieces that libtorch's allocator keeps",
              segments_grow(question, plan)
                  ? ""
                  : ", whose settings lack expandable_segments:True (PYTORCH_CUDA_ALLOC_CONF)");
}

/// "3 GiB free of 8 GiB"; "8 GiB" where all is free.
std::string free_memory(const Hardware& hardware) {
  const uint64_t free = hardware.free_memory_bytes(), limit = hardware.memory_limit_bytes;
  return free < limit ? text(human_bytes(free), " free of ", human_bytes(limit)) : human_bytes(limit);
}

std::string sum_text(const MemoryEstimate& memory, const char* batch) {
  return text("weights ", human_bytes(memory.weights), " + gradients ", human_bytes(memory.gradients),
              " + optimizer ", human_bytes(memory.optimizer), " + activations ",
              memory.activations > 0 ? human_bytes(memory.activations) : "unknown", " + ", batch, " ",
              human_bytes(memory.batch),
              memory.graphs > 0 ? text(" + graphs ", human_bytes(memory.graphs)) : "",
              memory.validation > memory.activations
                  ? text("; validation ", human_bytes(memory.validation), " in place of activations")
                  : "");
}

void refuse_if_one_example_is_too_much(const Question& question, const Plan& plan) {
  const MemoryEstimate one = estimate(question, plan, 1);
  if (one.total() <= one.available) return;
  const bool on_cpu = plan.device == DeviceKind::cpu;
  const std::string have =
      on_cpu ? text("it may use ", human_bytes(one.available), " (", free_memory(question.hardware), " / ",
                    counted(plan.local_size(), "rank"), ", beside ", kept_back(question, plan), ")")
             : text("the smallest GPU has ", human_bytes(one.available), " free beside ",
                    kept_back(question, plan));
  fail(Exit::memory,
       text("under ", to_text(plan.strategy), " a rank with one example needs ", human_bytes(one.total()),
            " (", sum_text(one, "batches"), "), but ", have),
       what_would_fit(question, plan));
}

/// Of validation the planner knows what sampling for a picture keeps, and nothing of whole cases.
bool samples_for_pictures(const Demand& demand) {
  return demand.validation_image_bytes == 0 && demand.validation_case_bytes == 0;
}

/// However small the micro-batch is, validation needs as much.
void refuse_if_validation_is_too_much(const Question& question, const Plan& plan) {
  const MemoryEstimate none = estimate(question, plan, 0);
  const int64_t needed = none.of_step() + none.validation;
  if (none.validation == 0 || needed <= none.available) return;
  const bool of_samples = samples_for_pictures(question.demand);
  fail(Exit::memory,
       text(of_samples ? "to sample an image for a picture" : "to validate whole cases in windows",
            " a rank needs ", human_bytes(needed), " (weights ", human_bytes(none.weights), " + gradients ",
            human_bytes(none.gradients), " + optimizer ", human_bytes(none.optimizer),
            of_samples ? " + what sampling keeps " : " + the largest case and its windows ",
            human_bytes(none.validation), "), but it has ", human_bytes(none.available)),
       of_samples ? "track.pictures_every=0 draws no pictures while the run trains"
                  : "a smaller validation.roi_size; validation.roi_size=[] judges a crop of each case");
}

/// What the ranks of GPUs keep in the host's memory, all together: batches that wait, and what is offloaded.
void check_host_memory(const Question& question, const Plan& plan) {
  const auto limit = static_cast<int64_t>(question.hardware.free_memory_bytes());
  if (plan.device == DeviceKind::cpu || limit == 0) return;
  const int64_t examples = plan.micro_batch * (plan.prefetch + 1) + plan.loader_threads;
  const int64_t ranks = plan.world_size();
  const int64_t batches = examples * question.demand.sample_bytes * ranks;
  const int64_t offloaded = plan.memory.offloaded * ranks;
  if (batches + offloaded <= limit) return;
  const bool offloads = offloaded > 0;
  fail(Exit::memory,
       text("the batches that wait for ", counted(ranks, "rank"), " need ", human_bytes(batches),
            " of the host's memory (", examples, " examples a rank × ",
            human_bytes(question.demand.sample_bytes), ")",
            offloads ? text(" and the optimizer's states there ", human_bytes(offloaded)) : "",
            ", but the job may use ", free_memory(question.hardware)),
       text("data.prefetch=1, fewer data.workers, ", offloads ? "parallel.offload=none, " : "",
            "or a smaller train.micro_batch"));
}

}  // namespace

MemoryEstimate estimate(const Question& question, const Plan& plan, int64_t micro_batch) {
  const Demand& demand = question.demand;
  MemoryEstimate memory;
  estimate_model(question, plan, memory);
  const int64_t activations = activations_of_a_sample(demand, plan.recompute);
  memory.activations = micro_batch * (activations / 2 * widths_of(plan).activation_halves);
  const int64_t copied_ahead = plan.device == DeviceKind::cpu ? 0 : demand.validation_image_bytes;
  memory.validation =
      demand.validation_window_bytes / 2 * widths_of(plan).activation_halves +
      (demand.validation_case_bytes + copied_ahead) * (plan.precision == Precision::fp64 ? 2 : 1);
  // On a CPU the batches that wait lie beside the model; on a GPU only the one in use and the next.
  const int64_t held = plan.device == DeviceKind::cpu ? plan.prefetch + 1 : 2;
  memory.batch = micro_batch * demand.sample_bytes * held;
  if (plan.graphs) {
    // Its activations stay where they are while a validation is under way.
    memory.graphs = gradient_bytes(question, plan) + micro_batch * demand.sample_bytes +
                    std::min(memory.validation, memory.activations);
  }
  memory.available = available_to_a_rank(question, plan);
  return memory;
}

int64_t gradient_bytes(const Question& question, const Plan& plan) {
  return question.demand.parameters * widths_of(plan).gradient;
}

bool fits_in_one_pass(const Demand& demand, double examples, uint64_t memory_bytes) {
  // Without gradient a few of the maps live at a time that training keeps all of.
  constexpr double share_alive = 0.25, share_of_memory = 0.5;
  const double needed = static_cast<double>(demand.activation_bytes_per_sample) * share_alive * examples;
  return needed < share_of_memory * static_cast<double>(memory_bytes);
}

void choose_gradient_keeping(const Question& question, Plan& plan) {
  const bool cuts_gradients = plan.strategy == Strategy::zero2 || plan.strategy == Strategy::zero3;
  if (!cuts_gradients || plan.accumulation == 1) return;
  const MemoryEstimate memory = estimate(question, plan, plan.micro_batch);
  const std::string needed =
      text(human_bytes(memory.total()), " of ", human_bytes(memory.available), " a rank");
  plan.exchange_every_micro_batch = memory.available > 0 && memory.total() > memory.available;
  plan.reasons.push_back(plan.exchange_every_micro_batch
                             ? text("Gradients meet at every micro-batch: to keep them whole for all ",
                                    plan.accumulation, " of a step would need ", needed, ".")
                             : text("Gradients meet once a step: there is room to keep them whole for its ",
                                    plan.accumulation, " micro-batches",
                                    memory.available > 0 ? text(" (", needed, ")") : "", "."));
}

int64_t micro_batch_that_fits(const Question& question, const Plan& plan) {
  constexpr int64_t unbounded = std::numeric_limits<int64_t>::max();
  const MemoryEstimate none = estimate(question, plan, 0), one = estimate(question, plan, 1);
  const int64_t of_example = one.of_step() - none.of_step();
  if (one.available == 0 || of_example == 0) return unbounded;
  return std::max<int64_t>((one.available - none.of_step()) / of_example, 1);
}

void check_memory(const Question& question, Plan& plan) {
  plan.memory = estimate(question, plan, plan.micro_batch);
  if (plan.memory.available == 0) {
    plan.reasons.push_back("Memory is not checked: the hardware does not say how much there is.");
    return;
  }
  refuse_if_validation_is_too_much(question, plan);
  refuse_if_one_example_is_too_much(question, plan);
  if (plan.memory.validation > plan.memory.activations) {
    plan.reasons.push_back(
        text(samples_for_pictures(question.demand)
                 ? "Sampling for pictures decides what a rank needs: it takes "
                 : "Validation of whole cases decides what a rank needs: the largest and its "
                   "windows take ",
             human_bytes(plan.memory.validation), ", the activations of a step ",
             human_bytes(plan.memory.activations), "."));
  }
  check_host_memory(question, plan);
  const bool on_cpu = plan.device == DeviceKind::cpu;
  if (on_cpu && question.hardware.free_memory_bytes() < question.hardware.memory_limit_bytes)
    plan.reasons.push_back(
        text("Memory is what is free now: ", free_memory(question.hardware), " that this job may use."));
  const std::string sum =
      text(human_bytes(plan.memory.total()), " of ", human_bytes(plan.memory.available), " beside ",
           kept_back(question, plan), " (", sum_text(plan.memory, "batches"), ")");
  if (plan.memory.total() <= plan.memory.available) {
    const bool is_measured = question.config.plan.probe.value_or(!on_cpu);
    const bool can_be = !(on_cpu && plan.in_one_process());
    plan.reasons.push_back(text("A rank needs about ", sum, is_measured ? "" : " + an unknown margin",
                                !is_measured && can_be ? ": plan.probe=true measures a step." : "."));
    return;
  }
  const int64_t fitting = micro_batch_that_fits(question, plan);
  const bool follows = !question.config.train.micro_batch && question.config.train.global_batch;
  std::vector<std::string> ways{
      follows ? text("train.global_batch=", fitting * plan.accumulation * plan.world_size())
              : text("train.micro_batch=", fitting)};
  for (std::string& change : changes_that_fit(question, plan, plan.micro_batch))
    ways.push_back(std::move(change));
  plan.reasons.push_back(
      text("A rank may run out of memory: about ", sum, "; ", join(ways, ", or "), " would fit."));
}

}  // namespace larmor
