// What every communicator has to do, whatever carries it.
#pragma once

#include "larmor/comm/communicator.h"

namespace larmor::testing {

/// Calls every collective with values that tell ranks apart, and checks the results. Collective.
void check_collectives(Communicator& communicator);

}  // namespace larmor::testing
