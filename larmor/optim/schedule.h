// The learning rate as a pure function of how far a run has come.
#pragma once

#include <cstdint>
#include <vector>

#include "larmor/config/run_config.h"

namespace larmor {

/// Schedule lengths in steps.
struct ScheduleSteps {
  int64_t total = 0;  // 0: nobody knows, because the run's length is a time
  int64_t warmup = 0;
  std::vector<int64_t> milestones = {};  // the first step at each lower rate
};

/// Where a schedule that goes by validations stands.
struct Plateau {
  double factor = 1;   // of the rate: all falls so far
  int64_t waited = 0;  // validations in a row without a gain, since the last fall
  bool operator==(const Plateau&) const = default;
};

/// What a validation makes of it: after more than config.patience in a row without a gain the rate falls by
/// config.factor. Source: PyTorch's ReduceLROnPlateau, where every better metric is a gain (threshold 0).
void note_validation(const ScheduleConfig& config, bool gained, Plateau& plateau);

/// The rate to use for step `step` (from 0), where `peak` is optim.learning_rate. Where steps.total is 0, a
/// schedule that has an end follows `share`, the part of the run's time that is over, in place of steps; its
/// warm-up stays one of steps, and whatever comes after is where the share has it.
///
/// - constant: always `peak`.
/// - warmup_cosine: linear from config.start * peak to peak over the warm-up, then a cosine to
///   config.final_rate at the last step, and there it stays.
/// - warmup_linear: the same warm-up, then a straight line that comes to config.final_rate one step after the
///   last, and there it stays. Source: DeepSpeed's WarmupDecayLR.
/// - cosine_warm_restarts: the same warm-up; then periods that each begin at `peak` and follow a cosine that
///   would reach config.final_rate at the first step of the next. The first spans config.first_period of the
///   run, period k that times config.period_growth^k, rounded to steps, one at least. They go on after the
///   run's end. Source: Loshchilov and Hutter 2017; PyTorch's CosineAnnealingWarmRestarts.
/// - onecycle: a cosine from config.start * peak up to config.peak * peak over config.rise of the run, then
///   one down to config.final_rate at the last step, and there it stays; the rise is its warm-up,
///   steps.warmup is not read. Source: Smith and Topin 2018; PyTorch's OneCycleLR of two phases, whose rise
///   ends one step before its share of the run does. So a rise of less than one step, 0 too, starts beyond
///   the top; of one step, at the top; a rise of 1 ends there.
///
/// - multistep: the same warm-up to `peak`, then config.factor times the rate from each milestone on. Source:
///   PyTorch's MultiStepLR.
/// - plateau: the same warm-up to `peak`, then `plateau.factor` times it, but not below config.final_rate.
///
/// A run of one step takes it at the top. Throws Error (usage) for another name.
double learning_rate(const ScheduleConfig& config, double peak, const ScheduleSteps& steps, int64_t step,
                     const Plateau& plateau = {}, double share = 0);

}  // namespace larmor
