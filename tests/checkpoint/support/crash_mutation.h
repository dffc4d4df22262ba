// Records of saves that do one thing wrong: a model that cannot tell them from the right ones proves nothing.
#pragma once

#include <string>
#include <vector>

#include "tests/checkpoint/support/crash_scenario.h"

namespace larmor::testing {

struct CrashMutation {
  std::string name = {};
  Scenario scenario = {};  // with the record changed
  size_t first = 0;        // the operation from which on there is something to find
  Loss expected = Loss::commit;
};

/// Each drops, moves or replaces operations of the last save of a record.
std::vector<CrashMutation> crash_mutations();

}  // namespace larmor::testing
