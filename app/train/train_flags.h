// The flags of `train`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "larmor/run/run_setup.h"

#include "app/train/agent.h"

namespace larmor::app {

struct TrainFlags {
  std::string resume = "auto";
  std::optional<int64_t> steps, cases;
  bool tries = false, dry_run = false, verbose = false, no_check = false, accept_config = false;
  AgentFlags agents;

  ResumeChoice resume_choice() const;
};

}  // namespace larmor::app
