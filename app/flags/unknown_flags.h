// Flags that a verb does not have: most are those of the guides' scripts and of other launchers and trainers,
// and have an answer.
#pragma once

#include <string>
#include <vector>

#include "larmor/config/load.h"
#include "larmor/task/workload.h"

namespace larmor::app {

/// What the workloads' guides mean by their flags; what a workload among the words means comes first.
ForeignFlags foreign_flags(const std::vector<Workload>& workloads, const std::vector<std::string>& words);

struct KnownFlags {
  std::string verb;                // "checkpoint list", or "" for the program itself
  std::vector<std::string> flags;  // "--ranks"
  ForeignFlags answers;
  std::string help;  // which command lists the flags
};
/// Words that begin with a dash. Throws Error (usage) with what to say in place of each; returns where there
/// are none.
void refuse_unknown_flags(const std::vector<std::string>& words, const KnownFlags& known);

}  // namespace larmor::app
