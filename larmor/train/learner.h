// A network that learns: an objective of the task together with how its gradients meet.
#pragma once

#include <memory>

#include "larmor/config/run_config.h"
#include "larmor/optim/schedule.h"
#include "larmor/parallel/parallelism.h"
#include "larmor/train/task.h"

namespace larmor {

struct Learner {
  Objective objective;
  OptimConfig optim;
  ScheduleSteps schedule_steps;
  std::unique_ptr<Parallelism> parallel;
};

}  // namespace larmor
