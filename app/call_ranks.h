// How `predict` and `evaluate` are shared among processes and devices.
#pragma once

#include <cstdint>
#include <vector>

#include <CLI/CLI.hpp>
#include <c10/core/Device.h>

#include "larmor/config/run_config.h"
#include "larmor/hardware/hardware.h"
#include "larmor/plan/plan.h"
#include "larmor/ranks/run.h"
#include "larmor/run/earlier/trained.h"

#include "app/program.h"

namespace larmor::app {

struct WeightFlags {
  bool average = false, live = false;

  /// Throws Error (usage) where both were asked for.
  WeightChoice choice() const;
};
/// --ema, --no-ema.
void add_weight_flags(CLI::App& verb, WeightFlags& flags);

struct CallFlags {
  PlaceFlags place = {.ranks = "1", .device = "auto", .threads = ""};
  WeightFlags weights;
};
/// --ranks, --device, --threads, --ema, --no-ema.
void add_call_flags(CLI::App& verb, CallFlags& flags);

/// Where the ranks of a call run, `most` of them at most where their number is left to the plan. It takes the
/// device of the run's config where the flags name none, and computes in fp64 where that is the config's
/// precision, otherwise in fp32. Throws Error (usage) as make_plan(), and for more ranks than `most` when
/// their number was said.
Plan plan_call(const CallFlags& flags, const RunConfig& config, int64_t most);
/// The device of a rank of the plan.
c10::Device device_of(const Plan& plan, int rank);
/// The GPUs of its ranks; none on CPUs.
std::vector<Gpu> gpus_of(const Plan& plan);
/// What that device has for a rank of the plan, in bytes.
uint64_t memory_for(const Plan& plan, int rank);

/// ranks::run() for a verb, by whose words the ranks are started; the exit status. Says how those ended that
/// this process has started, and what the GPUs show.
int run_on_ranks(const Program& program, ranks::Job job, const ranks::Prepare& prepare);

}  // namespace larmor::app
