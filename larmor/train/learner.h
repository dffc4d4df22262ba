// A network that learns: an objective of the task together with how its gradients meet.
#pragma once

#include <memory>
#include <vector>

#include "larmor/config/run_config.h"
#include "larmor/optim/schedule.h"
#include "larmor/parallel/parallelism.h"
#include "larmor/task/task.h"

namespace larmor {

class Timetable;

struct Learner {
  Objective objective;
  OptimConfig optim;
  ScheduleSteps schedule_steps;
  std::unique_ptr<Parallelism> parallel;
};

/// One an objective, in their order; ZeRO-3 cuts `blocks[i]` of objective i (blocks_to_cut). Without a
/// timetable their schedules have no length. All of the task's networks are placed on the communicator's
/// device. Borrows the task and the communicator. Collective.
std::vector<Learner> make_learners(Task& task,
                                   const std::vector<std::vector<const torch::nn::Module*>>& blocks,
                                   const RunConfig& config, const Plan& plan, const Timetable* timetable,
                                   Communicator& communicator);

/// All their networks, whole on every rank until the end of the list's life. Collective.
std::vector<std::unique_ptr<WholeNetwork>> whole_networks(std::vector<Learner>& learners);
/// The networks have the weights that train.validate_with asks for, likewise; made before they are whole.
std::vector<std::unique_ptr<AveragedWeights>> averaged_weights(std::vector<Learner>& learners,
                                                               const RunConfig& config);

}  // namespace larmor
