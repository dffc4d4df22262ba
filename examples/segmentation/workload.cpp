#include "larmor/task/workload.h"

#include <memory>

#include "organs/organs_stage.h"

namespace larmor::segmentation {

Workload make_workload() {
  return {"segmentation",
          {{.name = "organs",
            .make = [] { return std::make_unique<OrgansStage>(); },
            .purpose = "gives each voxel of a volume the class that it belongs to",
            .data = "volumes with label maps (a list with image and label), or bodies that it invents"}}};
}

}  // namespace larmor::segmentation
