// One sentence on what the system is for.
#pragma once

#include "larmor/task/workload.h"

namespace larmor::new_workload {

Workload make_workload();

}  // namespace larmor::new_workload
