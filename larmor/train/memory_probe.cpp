#include "larmor/train/memory_probe.h"

#include <exception>
#include <memory>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/ops/tensor.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/device.h"
#include "larmor/device/memory_meter.h"
#include "larmor/device/out_of_memory.h"
#include "larmor/train/step_benchmark.h"

namespace larmor {
namespace {

int64_t measured_peak(c10::Device device) {
  return device.is_cpu() ? metered_memory().peak : peak_memory_bytes(device);
}

void begin_measuring(c10::Device device) {
  if (device.is_cpu()) {
    start_memory_meter();
    reset_metered_peak();
  } else {
    reset_peak_memory(device);
  }
}

/// Whether this rank's group has broken off because of another one.
bool is_rank_lost(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return error.exit() == Exit::rank_lost;
  } catch (...) {
    return false;
  }
}

struct Trial {
  bool fits = true;
  int64_t peak = 0;  // bytes; the most of any rank
};

/// Of this rank alone.
Trial try_steps(Workload& workload, const RunConfig& config, const Plan& plan, const Index& index,
                Communicator& communicator) {
  const auto device = communicator.device();
  const auto group = communicator.duplicate();
  begin_measuring(device);
  try {
    // The first step makes the optimizer's states, the second has all there is at once.
    StepBenchmark steps(workload, config, plan, index, *group, /*batches=*/1);
    steps.step();
    steps.step();
    return {.peak = measured_peak(device)};
  } catch (...) {
    const auto failure = std::current_exception();
    group->abort();  // the others wait in the step's collectives
    if (!is_out_of_memory(failure) && !is_rank_lost(failure)) throw;
  }
  release_cached_memory(device);
  return {.fits = false};
}

/// What all have found. Collective.
Trial agree(const Trial& own, Communicator& communicator) {
  const at::Tensor worst = at::tensor({own.fits ? 0.0 : 1.0, static_cast<double>(own.peak)}, at::kDouble)
                               .to(communicator.device());
  communicator.all_reduce(worst, Reduce::max).wait();
  const at::Tensor on_host = worst.to(at::kCPU);
  const double* const values = on_host.const_data_ptr<double>();
  return {.fits = values[0] == 0, .peak = static_cast<int64_t>(values[1])};
}

}  // namespace

bool is_probed(const RunConfig& config, const Plan& plan) {
  return config.plan.probe.value_or(plan.device == DeviceKind::cuda);
}

Plan probe_memory(Workload& workload, const RunConfig& config, const Plan& planned, const Index& index,
                  Communicator& communicator) {
  Plan plan = planned;
  while (true) {
    const Trial trial = agree(try_steps(workload, config, plan, index, communicator), communicator);
    if (trial.fits) {
      note_measured(plan, trial.peak);
      return plan;
    }
    auto smaller = with_smaller_micro_batch(plan);
    if (!smaller) {
      fail(Exit::memory, text("a step with micro-batch ", plan.micro_batch, " does not fit into memory"),
           "train.activation_checkpointing=blocks, smaller examples, a smaller model, or more ranks with "
           "parallel.strategy=zero3");
    }
    smaller->reasons.push_back(text("A step with micro-batch ", plan.micro_batch, " did not fit: since then ",
                                    smaller->micro_batch, " × accumulation ", smaller->accumulation, "."));
    plan = std::move(*smaller);
  }
}

}  // namespace larmor
