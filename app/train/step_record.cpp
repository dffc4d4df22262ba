#include "app/train/step_record.h"

#include "larmor/base/hash.h"
#include "larmor/base/text.h"

namespace larmor::app {

namespace {

std::string name_of(const LoadedConfig& config, const Plan& plan) {
  constexpr std::size_t letters = 16;
  return "step_ms " +
         sha256(text(config.config.workload, ' ', config.config.stage, ' ', config.sha256(), ' ',
                     plan.world_size(), ' ', plan.micro_batch, ' ', plan.accumulation, ' ',
                     to_text(plan.precision), ' ', to_text(plan.strategy), ' ', plan.threads_per_rank))
             .substr(0, letters);
}

}  // namespace

std::optional<Measure> kept_step(const LoadedConfig& config, const Plan& plan) {
  return machine_record().kept(name_of(config, plan));
}

void keep_step(const LoadedConfig& config, const Plan& plan, double milliseconds) {
  machine_record().keep_anew(name_of(config, plan), milliseconds);
}

}  // namespace larmor::app
