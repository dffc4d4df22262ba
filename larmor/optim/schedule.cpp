#include "larmor/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

// Half a wave from `from` at progress 0 to `to` at 1.
double cosine_between(double from, double to, double progress) {
  return to + (from - to) * 0.5 * (1 + std::cos(std::numbers::pi * progress));
}

double warming_up(const ScheduleConfig& config, double peak, const ScheduleSteps& steps, int64_t step) {
  const double risen = static_cast<double>(step) / static_cast<double>(steps.warmup);
  return peak * (config.start + (1 - config.start) * risen);
}

double warmup_cosine(const ScheduleConfig& config, double peak, const ScheduleSteps& steps, int64_t step) {
  if (step < steps.warmup) return warming_up(config, peak, steps, step);
  const auto length = static_cast<double>(steps.total - 1 - steps.warmup);
  // Too short for a cosine: the one step at the top stays there.
  if (length <= 0) return peak;
  const double progress = std::min(static_cast<double>(step - steps.warmup) / length, 1.0);
  return cosine_between(peak, config.final_rate, progress);
}

double warmup_linear(const ScheduleConfig& config, double peak, const ScheduleSteps& steps, int64_t step) {
  if (step < steps.warmup) return warming_up(config, peak, steps, step);
  const auto length = static_cast<double>(steps.total - steps.warmup);
  if (length <= 0) return peak;
  const double left = std::max(static_cast<double>(steps.total - step) / length, 0.0);
  return config.final_rate + (peak - config.final_rate) * left;
}

double warm_restarts(const ScheduleConfig& config, double peak, const ScheduleSteps& steps, int64_t step) {
  if (step < steps.warmup) return warming_up(config, peak, steps, step);
  // Whole numbers all, in a type that a growing period cannot overflow. The length itself is never rounded:
  // a period of one step that grows by a third would be one of one step for ever.
  double length = std::max(1.0, std::round(config.first_period * static_cast<double>(steps.total)));
  double whole = length;
  auto inside = static_cast<double>(step - steps.warmup);
  if (config.period_growth <= 1) inside = std::fmod(inside, whole);
  while (inside >= whole) {
    inside -= whole;
    length *= config.period_growth;
    whole = std::round(length);
  }
  return cosine_between(peak, config.final_rate, inside / whole);
}

double one_cycle(const ScheduleConfig& config, double peak, const ScheduleSteps& steps, int64_t step) {
  const double top = peak * config.peak;
  const auto last = static_cast<double>(steps.total - 1);
  if (last <= 0) return top;
  const double now = std::min(static_cast<double>(step), last);
  const double top_at = config.rise * static_cast<double>(steps.total) - 1;
  if (now < top_at) return cosine_between(peak * config.start, top, now / top_at);
  // A rise of the whole run leaves nothing to fall in.
  if (top_at >= last) return top;
  return cosine_between(top, config.final_rate, (now - top_at) / (last - top_at));
}

double multistep(const ScheduleConfig& config, double peak, const ScheduleSteps& steps, int64_t step) {
  if (step < steps.warmup) return warming_up(config, peak, steps, step);
  double rate = peak;
  for (const int64_t milestone : steps.milestones) rate *= step >= milestone ? config.factor : 1;
  return rate;
}

// The same by the share of a run whose steps nobody can count beforehand.
double warm_restarts_by_share(const ScheduleConfig& config, double peak, double share) {
  double length = config.first_period, inside = share;
  if (config.period_growth <= 1) inside = std::fmod(inside, length);
  while (inside >= length) {
    inside -= length;
    length *= config.period_growth;
  }
  return cosine_between(peak, config.final_rate, inside / length);
}

double one_cycle_by_share(const ScheduleConfig& config, double peak, double share) {
  const double top = peak * config.peak;
  if (share < config.rise) return cosine_between(peak * config.start, top, share / config.rise);
  if (config.rise >= 1) return top;
  return cosine_between(top, config.final_rate, (share - config.rise) / (1 - config.rise));
}

bool comes_down(const ScheduleConfig& config) {
  return config.name == "warmup_cosine" || config.name == "warmup_linear" ||
         config.name == "cosine_warm_restarts" || config.name == "onecycle";
}

double by_share(const ScheduleConfig& config, double peak, const ScheduleSteps& steps, int64_t step,
                double over) {
  const double share = std::clamp(over, 0.0, 1.0);
  if (config.name == "onecycle") return one_cycle_by_share(config, peak, share);
  if (step < steps.warmup) return warming_up(config, peak, steps, step);
  if (config.name == "warmup_cosine") return cosine_between(peak, config.final_rate, share);
  if (config.name == "warmup_linear") return peak + (config.final_rate - peak) * share;
  return warm_restarts_by_share(config, peak, share);
}

double on_plateau(const ScheduleConfig& config, double peak, const ScheduleSteps& steps, int64_t step,
                  const Plateau& plateau) {
  if (step < steps.warmup) return warming_up(config, peak, steps, step);
  return std::max(peak * plateau.factor, std::min(peak, config.final_rate));
}

}  // namespace

void note_validation(const ScheduleConfig& config, bool gained, Plateau& plateau) {
  plateau.waited = gained ? 0 : plateau.waited + 1;
  if (plateau.waited <= config.patience) return;
  plateau.factor *= config.factor;
  plateau.waited = 0;
}

double learning_rate(const ScheduleConfig& config, double peak, const ScheduleSteps& steps, int64_t step,
                     const Plateau& plateau, double share) {
  if (config.name == "constant") return peak;
  if (config.name == "multistep") return multistep(config, peak, steps, step);
  if (config.name == "plateau") return on_plateau(config, peak, steps, step, plateau);
  if (!comes_down(config))
    fail(Exit::usage, text("optim.schedule.name is '", config.name, "'"),
         "say constant, warmup_cosine, warmup_linear, cosine_warm_restarts, onecycle, multistep or plateau");
  if (steps.total == 0) return by_share(config, peak, steps, step, share);
  if (config.name == "warmup_cosine") return warmup_cosine(config, peak, steps, step);
  if (config.name == "warmup_linear") return warmup_linear(config, peak, steps, step);
  if (config.name == "cosine_warm_restarts") return warm_restarts(config, peak, steps, step);
  return one_cycle(config, peak, steps, step);
}

}  // namespace larmor
