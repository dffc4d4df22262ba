// The two ways of being a rank: started by our launcher, or adopted from torchrun.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "larmor/launch/rank.h"
#include "larmor/train/run_setup.h"

#include "app/program.h"

namespace larmor::app {

struct TrainFlags {
  std::string ranks, device;
  std::string resume = "auto";
  std::optional<int64_t> steps;
  bool dry_run = false, debug = false;

  ResumeChoice resume_choice() const;
};

/// The launcher has prepared the run folder, which is the target.
int train_as_rank(Program& program, const TrainFlags& flags, const Rank& rank);
/// Nobody has prepared anything: rank 0 does, and tells the others.
int train_as_adopted_rank(Program& program, const TrainFlags& flags, const Rank& rank);

}  // namespace larmor::app
