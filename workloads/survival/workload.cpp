#include "workloads/survival/workload.h"

#include <memory>

#include "workloads/survival/risk/risk_stage.h"

namespace larmor::survival {

Workload make_workload() {
  return {"survival", {{.name = "risk", .make = [] { return std::make_unique<RiskStage>(); }}}};
}

}  // namespace larmor::survival
