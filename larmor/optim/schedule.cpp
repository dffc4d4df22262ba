#include "larmor/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

double warmup_cosine(const ScheduleConfig& config, double peak, const ScheduleSteps& steps, int64_t step) {
  if (step < steps.warmup) {
    const double risen = static_cast<double>(step) / static_cast<double>(steps.warmup);
    return peak * (config.start + (1 - config.start) * risen);
  }
  const auto length = static_cast<double>(steps.total - 1 - steps.warmup);
  // Too short for a cosine: the one step at the top stays there.
  if (length <= 0) return peak;
  const double progress = std::min(static_cast<double>(step - steps.warmup) / length, 1.0);
  const double height = 0.5 * (1 + std::cos(std::numbers::pi * progress));
  return config.final_rate + (peak - config.final_rate) * height;
}

}  // namespace

double learning_rate(const ScheduleConfig& config, double peak, const ScheduleSteps& steps, int64_t step) {
  if (config.name == "constant") return peak;
  if (config.name == "warmup_cosine") return warmup_cosine(config, peak, steps, step);
  fail(Exit::usage, text("optim.schedule.name is '", config.name, "'"), "say constant or warmup_cosine");
}

}  // namespace larmor
