#include "larmor/train/memory_probe.h"

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/memory/memory_meter.h"
#include "larmor/device/memory/out_of_memory.h"
#include "larmor/launch/rank_lost.h"
#include "larmor/measure/activation_count.h"
#include "larmor/measure/peak_prediction.h"
#include "larmor/train/step_benchmark.h"

namespace larmor {
namespace {

/// Two samples say how far the count is off; one of few voxels is convolved in ways of its own.
constexpr int64_t samples_to_learn_from = 2;
/// Predictions are within a tenth of what a step takes.
constexpr double surely_taken = 0.9;

/// Of all ranks: whether all found room, and the most that any took or will take.
struct Finding {
  bool fits = true;
  int64_t peak = 0;  // bytes; 0: unknown
};

/// Of this rank.
struct Trial {
  Finding verdict = {};
  MeasuredStep step = {};  // its batches aside
  int64_t batches = 0;     // bytes: the one in use, and those that wait for their turn
  Sample example = {};
};

class Probe {
 public:
  Probe(const Stage& stage, const RunConfig& config, const Index& index, Communicator& communicator)
      : stage_(stage), config_(config), index_(index), communicator_(communicator) {}

  /// What steps on few samples say of one with the plan's micro-batch. Collective.
  Finding foresee(const Plan& plan);
  /// Collective.
  Finding take(const Plan& plan) { return agree(try_steps(plan).verdict); }

 private:
  Trial try_steps(const Plan& plan);
  Finding agree(const Finding& own);
  int64_t peak_of(const Plan& plan, const Trial& known);
  int64_t room(const Plan& plan) const;

  const Stage& stage_;
  const RunConfig& config_;
  const Index& index_;
  Communicator& communicator_;
  std::optional<ActivationCount> count_;  // empty: unknown
};

/// What this rank's tensors may take, in bytes; 0: unknown.
int64_t Probe::room(const Plan& plan) const {
  const int64_t limit = communicator_.device().is_cpu() ? metered_memory_limit() : 0;
  return limit > 0 ? limit : plan.memory.available;
}

Trial Probe::try_steps(const Plan& plan) {
  const auto device = communicator_.device();
  const auto group = communicator_.duplicate();
  if (device.is_cpu()) start_memory_meter();
  try {
    StepBenchmark steps(stage_, config_, plan, index_, *group, /*batches=*/1);
    const int64_t batch = steps.batch_bytes();
    const int64_t waiting = batch * (device.is_cpu() ? plan.prefetch : 1);
    const at::Tensor others = at::empty({waiting}, at::TensorOptions(device).dtype(at::kByte));
    // The first step makes the optimizer's states, the second has all there is at once.
    steps.step();
    Trial trial{.step = steps.measured_step(), .batches = batch + waiting, .example = steps.example()};
    trial.verdict.peak = trial.step.peak();
    for (int64_t* const bytes : {&trial.step.before, &trial.step.backward_peak, &trial.step.update_peak})
      *bytes -= trial.batches;
    return trial;
  } catch (...) {
    const auto failure = std::current_exception();
    group->abort();  // the others wait in the step's collectives
    if (!is_out_of_memory(failure) && !is_rank_lost(failure)) throw;
  }
  release_cached_memory(device);
  return {.verdict = {.fits = false}};
}

Finding Probe::agree(const Finding& own) {
  const at::Tensor worst = at::tensor({own.fits ? 0.0 : 1.0, static_cast<double>(own.peak)}, at::kDouble)
                               .to(communicator_.device());
  communicator_.all_reduce(worst, Reduce::max).wait();
  const at::Tensor on_host = worst.to(at::kCPU);
  const double* const values = on_host.const_data_ptr<double>();
  return {.fits = values[0] == 0, .peak = static_cast<int64_t>(values[1])};
}

int64_t Probe::peak_of(const Plan& plan, const Trial& known) {
  if (!count_) {
    const auto counted = count_activations(*stage_.task(config_, index_), known.example, plan.recompute);
    count_ = counted.value_or(ActivationCount{});
  }
  const int64_t batches = known.batches / known.step.micro_batch * plan.micro_batch;
  return predicted_peak(known.step, *count_, plan.precision, plan.micro_batch) + batches;
}

Finding Probe::foresee(const Plan& plan) {
  if (plan.micro_batch <= samples_to_learn_from) return {};
  Plan small = plan;  // accumulates as that one does
  small.micro_batch = samples_to_learn_from;
  const Trial known = try_steps(small);
  if (!agree(known.verdict).fits) return {.fits = false};
  const int64_t peak = peak_of(plan, known), most = room(plan);
  const bool fits = most == 0 || surely_taken * static_cast<double>(peak) <= static_cast<double>(most);
  return agree({.fits = fits, .peak = peak});
}

std::string why_smaller(const Plan& plan, const Finding& foreseen) {
  if (foreseen.fits || foreseen.peak == 0)
    return text("A step with micro-batch ", plan.micro_batch, " did not fit");
  return text("A step with micro-batch ", plan.micro_batch, " was not tried: by one with ",
              samples_to_learn_from, " it would take ", human_bytes(static_cast<uint64_t>(foreseen.peak)));
}

[[noreturn]] void refuse_every_size(const Plan& plan) {
  fail(Exit::memory,
       text("a step with micro-batch ", plan.micro_batch, " does not fit into memory",
            plan.whole_micro_batch ? ", and batch norm would make another network of a smaller one" : ""),
       text(plan.whole_micro_batch ? "a smaller train.micro_batch as another run, " : "",
            "train.activation_checkpointing=blocks, smaller examples, a smaller model, or more ranks with "
            "parallel.strategy=zero3"));
}

}  // namespace

bool is_probed(const RunConfig& config, const Plan& plan) {
  return config.plan.probe.value_or(plan.device == DeviceKind::cuda);
}

Plan probe_memory(const Stage& stage, const RunConfig& config, const Plan& planned, const Index& index,
                  Communicator& communicator) {
  Probe probe(stage, config, index, communicator);
  Plan plan = planned;
  while (true) {
    auto smaller = with_smaller_micro_batch(plan);
    // Where no other micro-batch may be taken, there is nothing to foresee.
    const Finding foreseen = smaller ? probe.foresee(plan) : Finding{};
    if (foreseen.fits) {
      const Finding taken = probe.take(plan);
      if (taken.fits) {
        note_measured(plan, foreseen.peak, taken.peak);
        return plan;
      }
    }
    if (!smaller) refuse_every_size(plan);
    smaller->reasons.push_back(text(why_smaller(plan, foreseen), ": since then ", smaller->micro_batch,
                                    " × accumulation ", smaller->accumulation, "."));
    plan = std::move(*smaller);
  }
}

}  // namespace larmor
