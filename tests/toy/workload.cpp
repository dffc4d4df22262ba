#include "tests/toy/workload.h"

#include <memory>

#include "tests/toy/coder/coder_stage.h"
#include "tests/toy/refiner/refiner_stage.h"

namespace larmor::toy {

Workload make_workload() {
  return {"toy",
          {{.name = "coder", .make = [] { return std::make_unique<CoderStage>(); }},
           {.name = "refiner",
            .make = [] { return std::make_unique<RefinerStage>(); },
            .needs = {{.stage = "coder", .use = Need::Use::keeps}}}}};
}

}  // namespace larmor::toy
