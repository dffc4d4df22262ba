#include "larmor/train/learner.h"

#include <utility>

#include "larmor/run/timetable.h"
#include "larmor/task/networks.h"

namespace larmor {

std::vector<Learner> make_learners(Task& task,
                                   const std::vector<std::vector<const torch::nn::Module*>>& blocks,
                                   const RunConfig& config, const Plan& plan, const Timetable* timetable,
                                   Communicator& communicator) {
  place(task, communicator.device(), plan.precision);
  std::vector<Learner> learners;
  for (Objective& objective : task.objectives()) {
    const OptimConfig& optim = config.optim_of(objective.name);
    const auto& of_objective = blocks.at(learners.size());
    auto parallel =
        make_parallelism(plan, optim, *objective.network, communicator, of_objective, objective.rules);
    learners.push_back(
        {.objective = std::move(objective),
         .optim = optim,
         .schedule_steps = timetable != nullptr ? timetable->schedule_steps(optim.schedule) : ScheduleSteps(),
         .parallel = std::move(parallel)});
  }
  return learners;
}

std::vector<std::unique_ptr<WholeNetwork>> whole_networks(std::vector<Learner>& learners) {
  std::vector<std::unique_ptr<WholeNetwork>> whole;
  for (auto& learner : learners) whole.push_back(std::make_unique<WholeNetwork>(*learner.parallel));
  return whole;
}

std::vector<std::unique_ptr<AveragedWeights>> averaged_weights(std::vector<Learner>& learners,
                                                               const RunConfig& config) {
  std::vector<std::unique_ptr<AveragedWeights>> averaged;
  if (config.train.validate_with != "average") return averaged;
  for (auto& learner : learners) averaged.push_back(std::make_unique<AveragedWeights>(*learner.parallel));
  return averaged;
}

}  // namespace larmor
