#include "workloads/new_workload/workload.h"

#include <memory>

#include "workloads/new_workload/sharpen/sharpen_stage.h"

namespace larmor::new_workload {

Workload make_workload() {
  return {"new_workload", {{.name = "sharpen", .make = [] { return std::make_unique<SharpenStage>(); }}}};
}

}  // namespace larmor::new_workload
